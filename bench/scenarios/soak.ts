import { PARTS, readUsage } from '../processes.ts'
import { openRelay } from '../relay.ts'
import type { Row } from '../table.ts'

const MINUTES = 10
const RATE = 1_000
const MEGABYTE = 1_048_576

/** Ten minutes at a steady rate: the memory of each part after the first minute, and at the end. */
export async function soak(): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024 })
  const minute = () => relay.run({ seconds: 60, connections: 64, rate: RATE })
  await minute()
  const early = readUsage(relay.installation.supervisorPid)
  let lost = 0
  for (let n = 1; n < MINUTES; n++) {
    const run = await minute()
    lost += run.accepted - run.delivered
  }
  const late = readUsage(relay.installation.supervisorPid)
  return [
    ...PARTS.map((part) => ({
      figure: `${part} memory after 1 and ${MINUTES} minutes at ${RATE}/s`,
      must: 'flat',
      measured: `${Math.round(early[part].rssBytes / MEGABYTE)} → ${Math.round(late[part].rssBytes / MEGABYTE)} MB`,
      cpu: '',
    })),
    { figure: 'accepted and not delivered', must: '0', measured: String(lost), cpu: '' },
  ]
}
