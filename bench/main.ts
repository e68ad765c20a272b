import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'

import { capacity } from './scenarios/capacity.ts'
import { drain } from './scenarios/drain.ts'
import { floors } from './scenarios/floors.ts'
import { latency } from './scenarios/latency.ts'
import { reads } from './scenarios/reads.ts'
import { soak } from './scenarios/soak.ts'
import { formatTable, type Row } from './table.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '1000' },
    events: { type: 'string', default: '10000000' },
  },
})

const SCENARIOS: Record<string, () => Promise<Row[]>> = {
  floors,
  capacity: () => capacity(1),
  'fan-out': () => capacity(3),
  latency,
  drain,
  reads: () => reads({ events: Number(values.events) }),
  soak: () => soak({ minutes: Number(values.minutes), rate: Number(values.rate) }),
}

/** Many minutes long, so only by name. */
const BY_NAME_ONLY = new Set(['reads', 'soak'])

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
  rows.push(...((await SCENARIOS[name]?.()) ?? []))
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
