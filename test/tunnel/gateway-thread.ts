import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

import { z } from 'zod'

import { noticeLife } from '../../core/notices/connector-notices.ts'
import { addSession, openGateway, PHASES } from './calls-world.ts'

/** A gateway in a thread of its own: it goes on while the thread of the test stands still. */
const Work = z.object({
  natsUrl: z.string(),
  name: z.string(),
  connectorId: z.string(),
  /** Its agent answers each request so much later. */
  answerMs: z.int(),
})

const LIFE_MS = 1_000

const { natsUrl, name, connectorId, answerMs } = Work.parse(workerData)
const gateway = await openGateway(natsUrl, name)
addSession(gateway.sessions, connectorId, async () => {
  await sleep(answerMs)
  const head = { status: 200, headers: [], phases: PHASES }
  return { kind: 'response', head, body: Buffer.alloc(0) }
})
gateway.calls.follow(connectorId)
setInterval(() => noticeLife(gateway.nats, name), LIFE_MS)
await gateway.nats.flush()
parentPort?.postMessage('open', [])
