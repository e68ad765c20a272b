import { median, type Run } from './measure.ts'
import { PARTS, readUsage } from './processes.ts'

/** A figure beside what it must be. */
export interface Row {
  figure: string
  must: string
  measured: string
  /** CPU per event of each part, or what else explains the figure. */
  cpu: string
}

const RUNS = 3

/** A warm-up that is not counted, then three runs. */
export async function repeat(run: () => Promise<Run>): Promise<Run[]> {
  await run()
  const runs: Run[] = []
  for (let n = 0; n < RUNS; n++) runs.push(await run())
  for (const { accepted, delivered, refused } of runs) {
    if (refused > 0 || delivered < accepted) {
      throw new Error(`${delivered} of ${accepted} accepted were delivered; ${refused} refused`)
    }
  }
  return runs
}

/** Deliveries a second, in the median. */
export const ratePerSecond = (runs: readonly Run[]): number =>
  median(runs.map((run) => run.delivered / run.seconds))

export const rateText = (perSecond: number): string =>
  `${Math.round(perSecond).toLocaleString('en')}/s`

/** A floor of the machine, which is no goal of ours. */
export const floorRow = (what: string, measured: string, cpu = ''): Row => ({
  figure: `floor: ${what}`,
  must: '',
  measured,
  cpu,
})

/** Medians, in microseconds an event. */
export function cpuOf(runs: readonly Run[]): string {
  const parts = PARTS.map((part) => ({
    part,
    us: median(runs.map((run) => run.cpuUsPerEvent[part])),
  }))
  const total = parts.reduce((sum, { us }) => sum + us, 0)
  const named = parts.filter(({ us }) => us >= 1).map(({ part, us }) => `${part} ${Math.round(us)}`)
  return `${named.join(', ')}: ${Math.round(total)} us`
}

export function memoryOf(supervisorPid: number): string {
  const usage = readUsage(supervisorPid)
  return PARTS.map((part) => `${part} ${Math.round(usage[part].rssBytes / 1_048_576)} MB`).join(
    ', ',
  )
}

export function formatTable(rows: readonly Row[]): string {
  const header = '| figure | must | measured (median) | CPU per event |\n|---|---|---|---|'
  const lines = rows.map((row) => `| ${row.figure} | ${row.must} | ${row.measured} | ${row.cpu} |`)
  return [header, ...lines].join('\n')
}
