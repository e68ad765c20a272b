import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'

import { bareRelay } from './scenarios/bare-relay.ts'
import { bodies } from './scenarios/bodies.ts'
import { capacity } from './scenarios/capacity.ts'
import { dashboard } from './scenarios/dashboard.ts'
import { destinations } from './scenarios/destinations.ts'
import { drain } from './scenarios/drain.ts'
import { floors } from './scenarios/floors.ts'
import { folds } from './scenarios/folds.ts'
import { hostile } from './scenarios/hostile.ts'
import { idle } from './scenarios/idle.ts'
import { isolation } from './scenarios/isolation.ts'
import { latency } from './scenarios/latency.ts'
import { mails } from './scenarios/mails.ts'
import { memory } from './scenarios/memory.ts'
import { pacing } from './scenarios/pacing.ts'
import { peersKilled } from './scenarios/peers-killed.ts'
import { peers } from './scenarios/peers.ts'
import { privateDestinations } from './scenarios/private.ts'
import { reads } from './scenarios/reads.ts'
import { scaling } from './scenarios/scaling.ts'
import { soak } from './scenarios/soak.ts'
import { spool } from './scenarios/spool.ts'
import { formatTable, type Row } from './table.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '1000' },
    events: { type: 'string', default: '10000000' },
    /** Length of a measured run and of the backlog, for when a scenario's own would take too long. */
    seconds: { type: 'string' },
    waiting: { type: 'string' },
    destinations: { type: 'string', default: '1000' },
    /** A pattern of the names of the attacks to measure. */
    attack: { type: 'string', default: '' },
    /** Turns of Postern and of each peer, and a pattern of the names of the peers. */
    rounds: { type: 'string', default: '2' },
    peer: { type: 'string', default: '' },
  },
})

const given = {
  ...(values.seconds !== undefined && { seconds: Number(values.seconds) }),
  ...(values.waiting !== undefined && { waiting: Number(values.waiting) }),
}

const SCENARIOS: Record<string, () => Promise<Row[]>> = {
  floors,
  folds: () => folds(given),
  'bare-relay': bareRelay,
  capacity: () => capacity(1, given),
  'fan-out': () => capacity(3, given),
  'fan-out-20': () => capacity(20, given),
  latency,
  drain,
  spool: () => spool(given),
  memory: () => memory(given),
  mails: () => mails(given),
  pacing: () => pacing(given),
  isolation: () => isolation(given),
  private: () => privateDestinations(given),
  hostile: () => hostile({ ...given, only: values.attack }),
  bodies: () => bodies(given),
  idle: () => idle(given),
  destinations: () => destinations({ ...given, destinations: Number(values.destinations) }),
  'destinations-10000': () => destinations({ ...given, destinations: 10_000 }),
  scaling: () => scaling(given),
  peers: () => peers({ ...given, rounds: Number(values.rounds), only: values.peer }),
  'peers-killed': () => peersKilled({ only: values.peer }),
  dashboard,
  reads: () => reads({ events: Number(values.events) }),
  soak: () => soak({ minutes: Number(values.minutes), rate: Number(values.rate) }),
}

/** Many minutes long, so only by name. */
const BY_NAME_ONLY = new Set([
  'dashboard',
  'destinations-10000',
  'hostile',
  'idle',
  'peers',
  'peers-killed',
  'reads',
  'soak',
])

const names =
  positionals.length > 0
    ? positionals
    : Object.keys(SCENARIOS).filter((name) => !BY_NAME_ONLY.has(name))
const unknown = names.filter((name) => SCENARIOS[name] === undefined)
if (unknown.length > 0) {
  throw new Error(
    `No scenario "${unknown.join(', ')}": there are ${Object.keys(SCENARIOS).join(', ')}`,
  )
}

const rows: Row[] = []
for (const name of names) {
  console.log(`Running ${name}`)
  try {
    rows.push(...((await SCENARIOS[name]?.()) ?? []))
  } catch (error) {
    // The others' figures took minutes: they are still written.
    console.error(error)
    process.exitCode = 1
    rows.push({ figure: name, must: '', measured: 'failed', cpu: String(error) })
  }
}

const [cpu] = cpus()
const machine = `${cpus().length} × ${cpu?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`
const command = ['npm run bench', ...(positionals.length > 0 ? ['--', ...positionals] : [])].join(
  ' ',
)
const report = `# ${new Date().toISOString()}\n\n\`${command}\` on ${machine}, load generator and destination included.\n\n${formatTable(rows)}\n`
console.log(`\n${report}`)
mkdirSync('bench/results', { recursive: true })
const file = `bench/results/${new Date().toISOString().slice(0, 16).replaceAll(':', '')}-${names.join('-')}.md`
writeFileSync(file, report)
console.log(`Written to ${file}`)
