import { Kysely, PostgresDialect, type CompiledQuery } from 'kysely'
import { z } from 'zod'

import { openPool, type Pool } from '../../core/db/connection/db.ts'
import type { Tables } from '../../core/db/tables.ts'
import { openLog } from '../../core/log.ts'
import type { Row } from '../table.ts'
import { queriesOf } from './queries.ts'
import type { Measured } from './tenants.ts'

/** Each statement is explained so often; the fastest counts. */
const EXPLAINED = 5

/** The sums of a request of the API over all of its statements. */
interface Sum {
  statements: number
  planningMs: number
  executionMs: number
  buffers: number
  indexes: Map<string, number>
}

/** The plans of the queries behind the API: which indexes, how many pages, and the server's own times. */
export async function planRows(
  databaseUrl: string,
  measured: Measured,
  nowMs: number,
): Promise<Row[]> {
  const log = openLog('silent', 'bench')
  const pool = openPool({ url: databaseUrl, max: 1, log, planning: 'lists' })
  const caught: CompiledQuery[] = []
  await using db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: (event) => {
      caught.push(event.query)
    },
  })
  const rows: Row[] = []
  for (const [name, run] of await queriesOf(pool, measured, nowMs)) {
    caught.length = 0
    await run(db)
    const sum = await explain(pool, [...caught])
    rows.push({
      figure: `plan: ${name}`,
      must: '',
      measured: `${sum.statements} statements, ${sum.buffers} pages, planning ${sum.planningMs.toFixed(1)}, execution ${sum.executionMs.toFixed(1)} ms`,
      cpu: [...sum.indexes].map(([index, times]) => `${index} × ${times}`).join(', '),
    })
  }
  return rows
}

const Node = z.looseObject({
  'Node Type': z.string(),
  'Index Name': z.string().optional(),
  'Relation Name': z.string().optional(),
  'Actual Loops': z.number(),
  get Plans() {
    return z.array(Node).optional()
  },
})
type Node = z.infer<typeof Node>

const Plan = z.object({ Plan: Node, 'Planning Time': z.number(), 'Execution Time': z.number() })
type Plan = z.infer<typeof Plan>

const Explained = z.tuple([z.object({ 'QUERY PLAN': z.tuple([Plan]) })])

async function explain(pool: Pool, queries: readonly CompiledQuery[]): Promise<Sum> {
  const sum: Sum = { statements: 0, planningMs: 0, executionMs: 0, buffers: 0, indexes: new Map() }
  for (const query of queries) {
    const runs: Plan[] = []
    for (let n = 0; n < EXPLAINED; n++) runs.push(await explainOnce(pool, query))
    sum.statements++
    sum.planningMs += Math.min(...runs.map((run) => run['Planning Time']))
    sum.executionMs += Math.min(...runs.map((run) => run['Execution Time']))
    const root = runs.at(-1)?.Plan
    sum.buffers += Number(root?.['Shared Hit Blocks']) + Number(root?.['Shared Read Blocks'])
    if (root !== undefined) noteScans(root, sum.indexes)
  }
  return sum
}

async function explainOnce(pool: Pool, { sql, parameters }: CompiledQuery): Promise<Plan> {
  const text = `explain (analyze, buffers, summary, format json) ${sql}`
  const { rows } = await pool.query(text, [...parameters])
  return Explained.parse(rows)[0]['QUERY PLAN'][0]
}

/** Indexes of partitions under the name that they share. */
function noteScans(node: Node, seen: Map<string, number>): void {
  const name = node['Index Name'] ?? node['Relation Name']
  if (name !== undefined && node['Actual Loops'] > 0) {
    const shared = name.replace(/_\d+(?:_\d{8}|_rest)?_/, '_').replace(/(?:_idx\d*|_id_idx)$/, '')
    const scan = node['Index Name'] === undefined ? `${node['Node Type']} of ${shared}` : shared
    seen.set(scan, (seen.get(scan) ?? 0) + 1)
  }
  for (const inner of node.Plans ?? []) noteScans(inner, seen)
}
