import { readdirSync, readFileSync } from 'node:fs'

/** The parts of the relay that CPU and memory are told apart for. */
export const PARTS = [
  'ingest',
  'worker',
  'gateway',
  'agent',
  'api',
  'housekeeper',
  'postgres',
  'nats',
] as const

export type Part = (typeof PARTS)[number]

export function forEachPart<T>(valueOf: (part: Part) => T): Record<Part, T> {
  return {
    ingest: valueOf('ingest'),
    worker: valueOf('worker'),
    gateway: valueOf('gateway'),
    agent: valueOf('agent'),
    api: valueOf('api'),
    housekeeper: valueOf('housekeeper'),
    postgres: valueOf('postgres'),
    nats: valueOf('nats'),
  }
}

export interface Usage {
  /** Microseconds of user and system time since each process began. */
  cpuUs: number
  /** Resident bytes; shared memory counts once for PostgreSQL's largest process. */
  rssBytes: number
}

const TICK_US = 10_000
const PAGE_BYTES = 4_096

/** CPU and memory of each part, by the process tree below the supervisor and the processes `besides`. Linux only. */
export function readUsage(
  supervisorPid: number,
  besides: readonly number[] = [],
): Record<Part, Usage> {
  const usage = forEachPart(() => ({ cpuUs: 0, rssBytes: 0 }))
  const stats = [...descendants(supervisorPid), ...besides.flatMap(readStat)]
  for (const { pid, cpuUs, rssBytes } of stats) {
    const part = partOf(pid)
    if (part === undefined) continue
    usage[part].cpuUs += cpuUs
    const isPostgres = part === 'postgres'
    usage[part].rssBytes = isPostgres
      ? Math.max(usage[part].rssBytes, rssBytes)
      : usage[part].rssBytes + rssBytes
  }
  return usage
}

/** CPU time of a process in microseconds; 0 when it is gone. */
export function cpuUsOf(pid: number): number {
  return readStat(pid)[0]?.cpuUs ?? 0
}

/** CPU time in microseconds of the supervisor and all that it started. */
export function cpuUsOfAll(supervisorPid: number): number {
  return descendants(supervisorPid).reduce((sum, { cpuUs }) => sum + cpuUs, cpuUsOf(supervisorPid))
}

/** The process of a role. Throws when it does not run. */
export function pidOf(supervisorPid: number, part: Part): number {
  const found = descendants(supervisorPid).find(({ pid }) => partOf(pid) === part)
  if (found === undefined) throw new Error(`No ${part} runs`)
  return found.pid
}

interface Stat {
  pid: number
  parent: number
  cpuUs: number
  rssBytes: number
}

function descendants(root: number): Stat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(Number(name)))
  const found: Stat[] = []
  let parents = new Set([root])
  while (parents.size > 0) {
    const children = all.filter((stat) => parents.has(stat.parent))
    found.push(...children)
    parents = new Set(children.map((stat) => stat.pid))
  }
  return found
}

function readStat(pid: number): Stat[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything; the fields count from behind it, the third being the state.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const field = (index: number): number => Number(fields[index - 3])
    return [
      {
        pid,
        parent: field(4),
        // Children that ended are counted in their parent: PostgreSQL's backends come and go.
        cpuUs: (field(14) + field(15) + field(16) + field(17)) * TICK_US,
        rssBytes: field(24) * PAGE_BYTES,
      },
    ]
  } catch {
    return []
  }
}

function partOf(pid: number): Part | undefined {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    if (/postgres/.test(command)) return 'postgres'
    if (/nats-server/.test(command)) return 'nats'
    return PARTS.find((part) => command.includes(`${part}/main.ts`))
  } catch {
    return undefined
  }
}
