import { PARTS, readUsage } from '../processes.ts'
import { openRelay } from '../relay.ts'
import type { Row } from '../table.ts'

const MEGABYTE = 1_048_576

/** Minutes at a steady rate: the memory of each part after the first one, and at the end. */
export async function soak({ minutes, rate }: { minutes: number; rate: number }): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024 })
  const minute = () => relay.run({ seconds: 60, connections: 64, rate })
  await minute()
  const early = readUsage(relay.installation.supervisorPid)
  let lost = 0
  let duplicates = 0
  for (let n = 1; n < minutes; n++) {
    const run = await minute()
    lost += run.accepted - run.delivered
    duplicates += run.duplicates
  }
  const late = readUsage(relay.installation.supervisorPid)
  return [
    ...PARTS.map((part) => ({
      figure: `${part} memory after 1 and ${minutes} minutes at ${rate}/s`,
      must: 'flat',
      measured: `${Math.round(early[part].rssBytes / MEGABYTE)} → ${Math.round(late[part].rssBytes / MEGABYTE)} MB`,
      cpu: '',
    })),
    { figure: 'accepted and not delivered', must: '0', measured: String(lost), cpu: '' },
    { figure: 'delivered twice', must: '0', measured: String(duplicates), cpu: '' },
  ]
}
