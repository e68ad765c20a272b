import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'

import { startMails } from '../test/faults/mail-load.ts'

/** A load of mails in a thread of its own: the loop that sends requests measures them. */
export interface MailWork {
  port: number
  address: string
  perSecond: number
  connections: number
  seconds: number
}

/** Posts how many mails were answered 250 when the time is over. */
async function send({ seconds, ...work }: MailWork): Promise<void> {
  const load = startMails(work)
  await sleep(seconds * 1_000)
  const accepted = load.accepted.length
  await load.stop()
  parentPort?.postMessage(accepted, [])
}

if (!isMainThread) await send(workerData)
