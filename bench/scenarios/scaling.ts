import { median, type Run } from '../measure.ts'
import { cpuUsOf, PARTS, pidOf } from '../processes.ts'
import { openRelay } from '../relay.ts'
import { startBeside } from '../role-beside.ts'
import { cpuOf, repeat, type Row } from '../table.ts'

const WINDOW = 256
const CONNECTIONS = 128
/** Destinations are what workers share. */
const DESTINATIONS = 50
const RISE_MAX_PERCENT = 15
const JOIN_SECONDS = 5
const JOIN_RATE = 50

interface Cost {
  runs: Run[]
  /** Medians: microseconds an event of all parts, and events a second. */
  us: number
  perSecond: number
}

/** The same traffic through one ingest and one worker, then through two of each. */
export async function scaling({ seconds = 5 }: { seconds?: number }): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024, sources: DESTINATIONS })
  const { installation } = relay
  const run = (ports?: number[]) => () =>
    relay.run({ seconds, connections: CONNECTIONS, window: WINDOW, ...(ports && { ports }) })
  const one = costOf(await repeat(run()))

  await using ingest = await startBeside(installation, 'ingest')
  await using worker = await startBeside(installation, 'worker')
  // What changes hands while a worker joins is delivered late; what follows is what counts.
  await relay.run({ seconds: JOIN_SECONDS, connections: CONNECTIONS, rate: JOIN_RATE })
  const firstPort = Number(new URL(installation.ingestUrl).port)
  const firstWorker = pidOf(installation.supervisorPid, 'worker')
  const before = [cpuUsOf(firstWorker), cpuUsOf(worker.pid)] as const
  const two = costOf(await repeat(run([firstPort, ingest.ingestPort])))
  const spent = [cpuUsOf(firstWorker) - before[0], cpuUsOf(worker.pid) - before[1]] as const
  const share = Math.round((100 * spent[1]) / Math.max(1, spent[0] + spent[1]))
  const rise = 100 * (two.us / one.us - 1)
  return [
    rowOf('one ingest, one worker', one),
    rowOf('two ingests, two workers', two),
    {
      figure: 'CPU per event of two ingests and two workers against one of each',
      must: `at most +${RISE_MAX_PERCENT} %`,
      measured: `${rise >= 0 ? '+' : ''}${rise.toFixed(1)} %`,
      cpu: `the second worker used ${share} % of both`,
    },
  ]
}

function costOf(runs: Run[]): Cost {
  return {
    runs,
    us: median(runs.map(totalUs)),
    perSecond: median(runs.map((run) => run.delivered / run.seconds)),
  }
}

function totalUs(run: Run): number {
  return PARTS.reduce((sum, part) => sum + run.cpuUsPerEvent[part], 0)
}

function rowOf(what: string, { runs, perSecond }: Cost): Row {
  return {
    figure: `sustained deliveries, ${DESTINATIONS} destinations, ${what}`,
    must: '',
    measured: `${Math.round(perSecond).toLocaleString('en')}/s`,
    cpu: cpuOf(runs),
  }
}
