import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'vitest'
import { z } from 'zod'

import type { Charts } from './rendered.ts'

const run = promisify(execFile)

/** The spec of a PrometheusRule. */
export const Rules = z.looseObject({
  groups: z.array(
    z.looseObject({
      rules: z.array(
        z.looseObject({
          alert: z.string(),
          expr: z.string(),
          annotations: z.looseObject({ runbook_url: z.string().optional() }),
        }),
      ),
    }),
  ),
})
export type Rules = z.infer<typeof Rules>

/** Each alert has a section of the runbook, and names it below the URL. */
export function expectRunbook(rules: Rules, url: string): void {
  const runbook = readFileSync('docs/kubernetes/runbook.md', 'utf8').toLowerCase()
  for (const { alert, annotations } of rules.groups.flatMap((group) => group.rules)) {
    expect(runbook).toContain(`\n## ${alert.toLowerCase()}\n`)
    expect(annotations.runbook_url).toBe(`${url}#${alert.toLowerCase()}`)
  }
}

/** The output of promtool, which evaluates the rules over the series of a file. Throws when an alert is other than there. */
export async function testRules(charts: Charts, rules: Rules, file: string): Promise<string> {
  const directory = await mkdtemp(join(charts.scratch, 'rules-'))
  await cp(file, join(directory, 'rules.yaml'))
  await writeFile(join(directory, 'rules-under-test.yaml'), JSON.stringify(rules))
  return await promtool(directory, 'test', 'rules', 'rules.yaml')
}

/** The output of promtool, which parses each query. Throws when one is none of PromQL. */
export async function parseQueries(charts: Charts, queries: readonly string[]): Promise<string> {
  const directory = await mkdtemp(join(charts.scratch, 'queries-'))
  const rules = queries.map((expr, at) => ({ record: `query:${at}`, expr }))
  await writeFile(
    join(directory, 'queries.yaml'),
    JSON.stringify({ groups: [{ name: 'queries', rules }] }),
  )
  return await promtool(directory, 'check', 'rules', 'queries.yaml')
}

async function promtool(cwd: string, ...args: string[]): Promise<string> {
  const path = (await run('test/cluster/promtool.sh')).stdout.trim()
  return (await run(path, args, { cwd })).stdout
}
