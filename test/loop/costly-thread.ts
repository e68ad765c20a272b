import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'

import type {
  StepAnswer,
  ThreadAnswer,
  ThreadJob,
} from '../../dataplane/ingest/email/message/reading-thread.ts'

/** A thread of `ReadingThread` for mails whose text says what they do to it. */

const AUTHENTICATION = {
  fault: null,
  spf: { result: 'none', domain: null },
  dkim: [],
  dmarc: { result: 'none', domain: null, policy: null },
}
const WAIT_MS = 1_500

parentPort?.on('message', (job: ThreadJob) => void answer(job))
parentPort?.postMessage('ready', [])

async function answer(job: ThreadJob): Promise<void> {
  const say = (said: StepAnswer): void => {
    const whole: ThreadAnswer = { ...said, id: job.id, cpuMs: 1 }
    parentPort?.postMessage(whole, [])
  }
  const text = Buffer.from(job.mail).toString()
  if (text === 'endless') for (;;);
  if (text === 'all of the memory')
    for (const all: number[][] = []; ;) all.push(Array.from({ length: 1e5 }, (_, at) => at + 0.5))
  if (job.authentication !== undefined) {
    say({ kind: 'read', json: new TextEncoder().encode('{'), isUncertain: false })
    return
  }
  if (text === 'names') {
    say({ kind: 'idle' })
    await sleep(WAIT_MS)
  }
  say({ kind: 'authenticated', authentication: AUTHENTICATION })
}
