import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { freePort } from '../../standalone/processes/ports.ts'
import { AGENT_SECTION, documentedMetrics, OPERATOR_SECTION } from '../kit/documented-metrics.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { eventually } from '../kit/relay.ts'
import { parseScrape } from '../kit/scrape.ts'
import { scratch } from '../kit/servers.ts'
import { ROOT } from '../kit/source-files.ts'

/** A cluster that nobody answers for: the operator serves its metrics while it waits. */
const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: none
clusters: [{ name: none, cluster: { server: 'http://127.0.0.1:1' } }]
users: [{ name: none, user: { token: none } }]
contexts: [{ name: none, context: { cluster: none, user: none } }]
`

const PROGRAMS: [section: string, main: string, settings: (directory: string) => object][] = [
  [
    AGENT_SECTION,
    'connector-agent/main.ts',
    (directory) => ({
      POSTERN_URL: 'http://127.0.0.1:1',
      POSTERN_ENROLLMENT_KEY: 'key',
      POSTERN_ALLOW: 'http://127.0.0.1:1',
      STATE_DIR: directory,
    }),
  ],
  [
    OPERATOR_SECTION,
    'operator/main.ts',
    (directory) => {
      const file = join(directory, 'kubeconfig')
      writeFileSync(file, KUBECONFIG)
      return {
        KUBECONFIG: file,
        POD_NAMESPACE: 'postern',
        CONNECTOR_IMAGE: 'postern',
        HOST: '127.0.0.1',
      }
    },
  ],
]

test.for(PROGRAMS)(
  'docs/metrics.md has a row below "%s" for each metric of a scrape, and for no other',
  async ([section, main, settings]) => {
    using directory = scratch()
    const opsPort = String(await freePort())
    const child = spawn(process.execPath, [main], {
      cwd: ROOT,
      env: { ...SURROUNDINGS, ...settings(directory.path), OPS_PORT: opsPort },
      stdio: 'ignore',
    })
    try {
      const url = `http://127.0.0.1:${opsPort}/metrics`
      // The last that a program registers comes with its parts.
      const text = await eventually(async () => {
        const answer = await (await fetch(url)).text()
        expect(answer).toMatch(/^# TYPE postern_(?:connector|operator)_/m)
        return answer
      }, 40_000)
      const rows = documentedMetrics().filter((row) => row.section === section)
      const served = [...text.matchAll(/^# TYPE ((?!process_|nodejs_)\S+) (\S+)$/gm)]
      expect(served.length).toBeGreaterThan(5)
      expect(rows.map(({ name, type }) => `${name} ${type}`).toSorted()).toEqual(
        served.map(([, name, type]) => `${name} ${type}`).toSorted(),
      )
      const labelsOf = new Map(rows.map(({ name, labels }) => [name, labels]))
      const bad = parseScrape(text)
        .samples.filter(({ name }) => labelsOf.has(name))
        .filter(({ name, labels }) =>
          Object.keys(labels).some((label) => labelsOf.get(name)?.includes(label) !== true),
        )
      expect(bad).toEqual([])
    } finally {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    }
  },
)
