import { parentPort } from 'node:worker_threads'

import { MAIL_BODY_BYTES_MAX } from '../../../../core/limits.ts'
import { contentOf, UndecodedMembers } from '../mime/mail-content.ts'
import { readParts } from '../mime/parts.ts'
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
  if (typeof head === 'string') return { id, fault: head }
  const parts = readParts(mail)
  if (typeof parts === 'string') return { id, fault: parts }
  const undecoded = new UndecodedMembers()
  const content = contentOf(parts, undecoded)
  if (typeof content === 'string') return { id, fault: content }
  const authentication = await authenticate({ mail, head, mailFrom, helo, remoteIp }, names)
  const payload = payloadOf(content, head, { mailFrom, authentication, undecoded })
  const text = JSON.stringify(payload)
  const json = new Uint8Array(new TextEncoder().encode(text.slice(0, -1)))
  if (json.length > MAIL_BODY_BYTES_MAX) return { id, fault: 'tooLarge' }
  return { id, json, isUncertain: isUncertain(authentication) }
}
