import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

import { z } from 'zod'

import type { MailWork } from '../mail-thread.ts'
import type { Run } from '../measure.ts'
import { openRelay, WARM_UP } from '../relay.ts'
import { repeat, type Row } from '../table.ts'
import { spread } from './latency.ts'

const RATE = 200
const CONNECTIONS = 32
const MAILS = 500
/** Until mails come at their rate, and until the last run is over. */
const BEGIN_MS = 2_000

/** Requests beside a load of mails, and beside none, in turns. */
export async function mails({ seconds = 10 }: { seconds?: number }): Promise<Row[]> {
  const settings = { SMTP_PORT: '0', TRUSTED_PROXIES: '127.0.0.1/32' }
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024, settings })
  const { installation } = relay
  const { smtpPort } = z
    .object({ smtpPort: z.int() })
    .parse(JSON.parse(readFileSync(join(installation.dataDir, 'standalone.json'), 'utf8')))
  const { ingestAddress } = z
    .object({ ingestAddress: z.string() })
    .parse(await installation.call('POST', '/v1/sources', { name: 'Mails', kind: 'email' }))
  await relay.run(WARM_UP)
  const requests = { seconds, connections: CONNECTIONS, rate: RATE }
  const alone: Run[] = []
  const rates: number[] = []
  const beside = await repeat(async () => {
    alone.push(await relay.run(requests))
    const work: MailWork = {
      port: smtpPort,
      address: ingestAddress,
      perSecond: MAILS,
      connections: CONNECTIONS,
      seconds: seconds + 2 * (BEGIN_MS / 1_000),
    }
    const thread = new Worker(new URL('../mail-thread.ts', import.meta.url), { workerData: work })
    const ended = once(thread, 'message')
    await sleep(BEGIN_MS)
    const run = await relay.run(requests)
    const [accepted] = await ended
    await thread.terminate()
    rates.push(accepted / work.seconds)
    return run
  })
  return [
    {
      figure: `${RATE}/s alone: request to 200`,
      must: '',
      ...spread(alone.slice(1), 'toAnswer'),
    },
    {
      figure: `${RATE}/s beside ${MAILS} mails a second: request to 200`,
      must: 'p99 10 ms',
      ...spread(beside, 'toAnswer'),
    },
    {
      figure: 'mails that were answered 250',
      must: `${MAILS}/s`,
      measured: `${rates
        .slice(1)
        .map((rate) => rate.toFixed(0))
        .join(', ')}/s`,
      cpu: '',
    },
  ]
}
