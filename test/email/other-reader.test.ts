import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'

import { readHead } from '../../dataplane/ingest/email/message/head.ts'
import { payloadOf } from '../../dataplane/ingest/email/message/mail-payload.ts'
import { contentOf, UndecodedMembers } from '../../dataplane/ingest/email/mime/mail-content.ts'
import { readParts } from '../../dataplane/ingest/email/mime/parts.ts'
import { makeCorpus } from './corpus.ts'

/** The other reader decodes an unknown charset as windows-1252, and loses a multipart without a boundary. */
const DIFFERENT = new Set([
  'charset 10',
  'charset 11',
  'charset 12',
  'charset 13',
  'parts 3',
  'parts 4',
  'subject 0',
  'subject 3',
])

/** The other reader ends each line, and each text, in a line feed. */
function lines(text: string | null | undefined): string {
  return (text ?? '').replaceAll(/\r\n?/g, '\n').trimEnd()
}

function decoded(base64: unknown): string {
  return lines(Buffer.from(String(base64), 'base64').toString('latin1'))
}

test('mails of the usual programs are read as an independent reader has them', async () => {
  const corpus = (await makeCorpus()).filter(({ name }) => !DIFFERENT.has(name))
  expect(corpus.length).toBeGreaterThan(200)
  for (const { name, mail } of corpus) {
    const [head, parts] = [readHead(mail), readParts(mail)]
    const content = Array.isArray(parts) ? contentOf(parts, new UndecodedMembers()) : parts
    if (typeof head === 'string' || typeof content === 'string') throw new Error(name)
    const authentication = { fault: null, spf: NONE, dkim: [], dmarc: { ...NONE, policy: null } }
    const about = { mailFrom: 'a@example.net', authentication, undecoded: new UndecodedMembers() }
    const theirs = await PostalMime.parse(mail, {
      attachmentEncoding: 'base64',
      forceRfc822Attachments: true,
    })
    expect({ ...payloadOf(content, head, about), ...textsOf(content) }, name).toMatchObject({
      subject: theirs.subject ?? null,
      date: theirs.date ?? null,
      messageId: theirs.messageId ?? null,
      ...textsOf(theirs),
      attachments: theirs.attachments.map(({ filename, mimeType, disposition, contentId }) => ({
        filename,
        contentType: mimeType,
        disposition,
        contentId: contentId ?? null,
      })),
    })
    expect(content.attachments.map((one) => lines(one.content.toString('latin1')))).toEqual(
      theirs.attachments.map((one) => decoded(one.content)),
    )
  }
})

const NONE = { result: 'none', domain: null }

function textsOf({
  text,
  html,
}: Partial<Record<'text' | 'html', string | null | undefined>>): object {
  return { text: lines(text), html: lines(html) }
}
