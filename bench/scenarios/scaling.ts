import { openBareServer, sendFor, type BareServer } from '../floors/bare-server.ts'
import { startInstallation, type Installation } from '../installation.ts'
import { median, type Run } from '../measure.ts'
import { cpuUsOf, PARTS, pidOf, readUsage } from '../processes.ts'
import { openRelay, WARM_UP } from '../relay.ts'
import { startBeside } from '../role-beside.ts'
import { cpuOf, ratePerSecond, rateText, repeat, type Row } from '../table.ts'
import { Senders } from '../traffic.ts'

const WINDOW = 256
const CONNECTIONS = 128
/** Destinations are what workers share. */
const DESTINATIONS = 50
const RISE_MAX_PERCENT = 15
const JOIN_SECONDS = 5
const JOIN_RATE = 50
const FLOOR_TURNS = 3
const WARM_MS = 500
/** Each of a pair gets half of what one alone does, and less while all of them are new. */
const PAIR_WARM_UPS = 3

interface Cost {
  runs: Run[]
  /** Medians: microseconds an event of all parts, and events a second. */
  us: number
  perSecond: number
}

/**
 * The same traffic through one ingest and one worker, then through two of each. Beside it what the machine takes for one
 * more process: the same requests to one bare server that commits them, then to two.
 */
export async function scaling({ seconds = 5 }: { seconds?: number }): Promise<Row[]> {
  const floor = await floorRise(seconds)
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024, sources: DESTINATIONS })
  const { installation } = relay
  const run = (ports?: number[]) => () =>
    relay.run({ seconds, connections: CONNECTIONS, window: WINDOW, ...(ports && { ports }) })
  await relay.run(WARM_UP)
  const one = costOf(await repeat(run()))

  await using ingest = await startBeside(installation, 'ingest')
  await using worker = await startBeside(installation, 'worker')
  // Deliveries of moving partitions are late while a worker joins; only the time afterwards counts.
  await relay.run({ seconds: JOIN_SECONDS, connections: CONNECTIONS, rate: JOIN_RATE })
  const firstPort = Number(new URL(installation.ingestUrl).port)
  const firstWorker = pidOf(installation.supervisorPid, 'worker')
  const ports = [firstPort, ingest.ingestPort]
  // The second pair is as old as the first was then: what V8 has not compiled yet costs half as much again.
  for (let n = 0; n < PAIR_WARM_UPS; n++) await relay.run({ ...WARM_UP, ports })
  const before = [cpuUsOf(firstWorker), cpuUsOf(worker.pid)] as const
  const two = costOf(await repeat(run(ports)))
  const spent = [cpuUsOf(firstWorker) - before[0], cpuUsOf(worker.pid) - before[1]] as const
  const share = Math.round((100 * spent[1]) / Math.max(1, spent[0] + spent[1]))
  return [
    rowOf('one ingest, one worker', one),
    rowOf('two ingests, two workers', two),
    {
      figure: 'CPU per event of two ingests and two workers against one of each',
      must: `at most +${RISE_MAX_PERCENT} %`,
      measured: risen(one.us, two.us),
      cpu: `the second worker used ${share} % of both`,
    },
    {
      figure: 'floor: CPU per request of two bare servers that commit against one',
      must: '',
      measured: floor,
      cpu: '',
    },
  ]
}

async function floorRise(seconds: number): Promise<string> {
  await using installation = await startInstallation()
  await using first = await openBareServer(installation.databaseUrl)
  await using second = await openBareServer(installation.databaseUrl)
  const one: number[] = []
  const two: number[] = []
  for (let n = 0; n < FLOOR_TURNS; n++) {
    one.push(await floorUs(installation, [first], seconds))
    two.push(await floorUs(installation, [first, second], seconds))
  }
  return risen(median(one), median(two))
}

/** CPU time of the servers and PostgreSQL. */
async function floorUs(
  { supervisorPid }: Installation,
  servers: readonly [BareServer, ...BareServer[]],
  seconds: number,
): Promise<number> {
  const ports = servers.map(({ url }) => Number(url.port))
  const target = { url: servers[0].url, secret: 'floor', bodyBytes: 1_024, paths: ['/kept'], ports }
  const senders = new Senders(target)
  await senders.open(CONNECTIONS)
  const used = async (): Promise<number> => {
    let us = readUsage(supervisorPid).postgres.cpuUs
    for (const server of servers) us += await server.cpuUs()
    return us
  }
  await sendFor(senders, { connections: CONNECTIONS, ms: WARM_MS })
  const before = await used()
  const answered = await sendFor(senders, { connections: CONNECTIONS, ms: seconds * 1_000 })
  const us = (await used()) - before
  senders.close()
  return us / answered
}

function risen(one: number, two: number): string {
  const rise = 100 * (two / one - 1)
  return `${rise >= 0 ? '+' : ''}${rise.toFixed(1)} %`
}

function costOf(runs: Run[]): Cost {
  return {
    runs,
    us: median(runs.map(totalUs)),
    perSecond: ratePerSecond(runs),
  }
}

function totalUs(run: Run): number {
  return PARTS.reduce((sum, part) => sum + run.cpuUsPerEvent[part], 0)
}

function rowOf(what: string, { runs, perSecond }: Cost): Row {
  return {
    figure: `sustained deliveries, ${DESTINATIONS} destinations, ${what}`,
    must: '',
    measured: rateText(perSecond),
    cpu: cpuOf(runs),
  }
}
