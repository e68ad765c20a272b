import { parentPort } from 'node:worker_threads'

import PostalMime from 'postal-mime'

import {
  MAIL_ATTACHMENTS_MAX,
  MAIL_BODY_BYTES_MAX,
  MAIL_DEPTH_MAX,
} from '../../../../core/limits.ts'
import { authenticate, isUncertain } from './authenticate.ts'
import { readHead } from './head.ts'
import { MailNames } from './mail-names.ts'
import { payloadOf } from './mail-payload.ts'
import type { ReadAnswer, ThreadJob } from './mail-reader.ts'

/** The thread of a `MailReader`. */

const port = parentPort
if (port === null) throw new Error('This file is run in a thread')
const names = new MailNames()
port.on('message', (job: ThreadJob) => void answer(job))

async function answer(job: ThreadJob): Promise<void> {
  const read = await answerTo(job)
  port?.postMessage(read, read.json === undefined ? [] : [read.json.buffer])
}

async function answerTo({
  id,
  mail: bytes,
  mailFrom,
  helo,
  remoteIp,
}: ThreadJob): Promise<ReadAnswer> {
  const mail = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const head = readHead(mail)
  if (typeof head === 'string') return { id, fault: 'unreadable' }
  let parsed
  try {
    parsed = await PostalMime.parse(mail, {
      attachmentEncoding: 'base64',
      // A message within a message stays whole, with all that is in it.
      forceRfc822Attachments: true,
      maxNestingDepth: MAIL_DEPTH_MAX,
    })
  } catch {
    return { id, fault: 'unreadable' }
  }
  if (parsed.attachments.length > MAIL_ATTACHMENTS_MAX) return { id, fault: 'unreadable' }
  const authentication = await authenticate({ mail, head, mailFrom, helo, remoteIp }, names)
  const text = JSON.stringify(payloadOf(parsed, head, { mailFrom, authentication }))
  const json = new Uint8Array(new TextEncoder().encode(text.slice(0, -1)))
  if (json.length > MAIL_BODY_BYTES_MAX) return { id, fault: 'tooLarge' }
  return { id, json, isUncertain: isUncertain(authentication) }
}
