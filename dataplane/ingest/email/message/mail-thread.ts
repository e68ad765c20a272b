import { parentPort } from 'node:worker_threads'

import { MAIL_BODY_BYTES_MAX } from '../../../../core/limits.ts'
import { contentOf, UndecodedMembers } from '../mime/mail-content.ts'
import { readParts } from '../mime/parts.ts'
import { authenticate, isUncertain } from './authenticate.ts'
import { readHead } from './head.ts'
import { MailNames } from './mail-names.ts'
import { payloadOf, type Authentication } from './mail-payload.ts'
import type { StepAnswer, ThreadAnswer, ThreadJob } from './reading-thread.ts'

/** The thread of a `ReadingThread`. */

const port = parentPort
if (port === null) throw new Error('This file is run in a thread')
const names = new MailNames()
port.on('message', (job: ThreadJob) => void answer(job))
port.postMessage('ready', [])

async function answer(job: ThreadJob): Promise<void> {
  const before = process.threadCpuUsage()
  const say = (said: StepAnswer): void => {
    const { user, system } = process.threadCpuUsage(before)
    const whole: ThreadAnswer = { ...said, id: job.id, cpuMs: (user + system) / 1_000 }
    port?.postMessage(whole, whole.kind === 'read' ? [whole.json.buffer] : [])
  }
  say(
    job.authentication === undefined
      ? await authenticated(job, () => say({ kind: 'idle' }))
      : await partsOf(job, job.authentication),
  )
}

/** The first step, which holds no more than the mail while it waits for names. */
async function authenticated(
  { mail: bytes, mailFrom, helo, remoteIp }: ThreadJob,
  idle: () => void,
): Promise<StepAnswer> {
  const mail = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const head = readHead(mail)
  if (typeof head === 'string') return { kind: head }
  const sent = { mail, head, mailFrom, helo, remoteIp }
  return { kind: 'authenticated', authentication: await authenticate(sent, names, idle) }
}

async function partsOf(
  { mail: bytes, mailFrom }: ThreadJob,
  authentication: Authentication,
): Promise<StepAnswer> {
  const mail = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const head = readHead(mail)
  if (typeof head === 'string') return { kind: head }
  const parts = readParts(mail)
  if (typeof parts === 'string') return { kind: parts }
  const undecoded = new UndecodedMembers()
  const content = contentOf(parts, undecoded)
  if (typeof content === 'string') return { kind: content }
  const payload = payloadOf(content, head, { mailFrom, authentication, undecoded })
  const text = JSON.stringify(payload)
  const json = new Uint8Array(new TextEncoder().encode(text.slice(0, -1)))
  if (json.length > MAIL_BODY_BYTES_MAX) return { kind: 'tooLarge' }
  return { kind: 'read', json, isUncertain: isUncertain(authentication) }
}
