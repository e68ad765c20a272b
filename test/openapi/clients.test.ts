import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { startEndpoint } from '../kit/endpoint.ts'
import { goTools, has, npmTools, pythonTools, run } from './tools.ts'

/** Clients are made from the document of a running relay, compiled, and used against it. */
const { apiUrl, dataDir, endpointHost } = inject('installation')
const scratch = mkdtempSync(join(tmpdir(), 'postern-clients-'))
const document = join(scratch, 'openapi.json')
const CLIENTS = join(import.meta.dirname, 'clients')
const IS_CI = process.env['CI'] !== undefined

beforeAll(async () => {
  const answer = await fetch(`${apiUrl}/openapi.json`)
  writeFileSync(document, await answer.text())
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** In CI a missing language is a failure of its test, elsewhere a test that is shown as skipped. */
const noPython = !IS_CI && !(await has('python3', '-c', 'import venv, ensurepip'))
const noGo = !IS_CI && !(await has('go', 'version'))

/** The destination must get the deliveries that the program asked for: the event, and its replay. */
async function expectDeliveries(use: (env: Record<string, string>) => Promise<unknown>) {
  await using endpoint = await startEndpoint(undefined, endpointHost)
  const told = JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8'))
  const { apiKey } = z.object({ apiKey: z.string() }).parse(told)
  await use({ POSTERN_URL: apiUrl, POSTERN_KEY: apiKey, DESTINATION_URL: endpoint.url })
  const bodies = endpoint.arrivals.map(({ body }) => JSON.parse(body.toString()))
  expect(bodies).toEqual(Array.from({ length: 2 }, () => ({ type: 'invoice.paid', amount: 12 })))
}

/** Strict, as users have it; the generated code is part of what is compiled. */
const COMPILER = {
  compilerOptions: {
    strict: true,
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    skipLibCheck: true,
    outDir: 'out',
    rootDir: '.',
  },
  files: ['main.ts'],
}

async function typescriptProject(name: string): Promise<{ cwd: string; bin: string }> {
  const tools = await npmTools()
  const cwd = join(scratch, name)
  cpSync(join(CLIENTS, `${name}.ts`), join(cwd, 'main.ts'))
  symlinkSync(join(tools, 'node_modules'), join(cwd, 'node_modules'))
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify(COMPILER))
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
  return { cwd, bin: join(tools, 'node_modules', '.bin') }
}

test('openapi-typescript makes types for openapi-fetch that compile and work', async () => {
  const { cwd, bin } = await typescriptProject('openapi-typescript')
  await run(join(bin, 'openapi-typescript'), [document, '-o', 'schema.d.ts'], { cwd })
  await run(join(bin, 'tsc'), ['-p', '.'], { cwd })
  await expectDeliveries(async (env) => {
    await run(process.execPath, ['out/main.js'], { cwd, env })
  })
})

test('@hey-api/openapi-ts makes a client that compiles and works', async () => {
  const { cwd, bin } = await typescriptProject('hey-api')
  // Node resolves imports by their whole names.
  const config = { input: document, output: { path: 'client', module: { extension: '.js' } } }
  writeFileSync(join(cwd, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(config)}`)
  await run(join(bin, 'openapi-ts'), ['--no-log-file'], { cwd })
  await run(join(bin, 'tsc'), ['-p', '.'], { cwd })
  await expectDeliveries(async (env) => {
    await run(process.execPath, ['out/main.js'], { cwd, env })
  })
})

test.skipIf(noPython)(
  'openapi-python-client makes a client whose types hold and that works (needs python3 with venv)',
  async () => {
    const tools = await pythonTools()
    const cwd = join(scratch, 'python')
    cpSync(join(CLIENTS, 'main.py'), join(cwd, 'main.py'))
    const config = { package_name_override: 'client', post_hooks: [] }
    writeFileSync(join(cwd, 'config.json'), JSON.stringify(config))
    const generator = join(tools, 'bin', 'openapi-python-client')
    const options = ['--path', document, '--config', 'config.json', '--meta', 'none']
    const said = await run(
      generator,
      ['generate', ...options, '--output-path', 'client', '--fail-on-warning'],
      { cwd },
    )
    expect(said).not.toMatch(/warning|unable/i)
    await run(join(tools, 'bin', 'mypy'), ['main.py'], { cwd })
    await expectDeliveries(async (env) => {
      await run(join(tools, 'bin', 'python'), ['main.py'], { cwd, env })
    })
  },
)

test.skipIf(noGo)('oapi-codegen makes a client that compiles and works (needs go)', async () => {
  const tools = await goTools()
  const cwd = join(scratch, 'go')
  cpSync(join(CLIENTS, 'go'), cwd, { recursive: true })
  const config = {
    package: 'postern',
    generate: { client: true, models: true },
    output: 'postern/postern.go',
    'output-options': { 'skip-prune': true },
  }
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(config))
  await run(join(tools, 'oapi-codegen'), ['-config', 'config.json', document], { cwd })
  await run('go', ['build', '-o', 'main', '.'], { cwd })
  await expectDeliveries(async (env) => {
    await run(join(cwd, 'main'), [], { cwd, env })
  })
})

test('redocly and spectral find nothing by their recommended rules', async () => {
  const bin = join(await npmTools(), 'node_modules', '.bin')
  writeFileSync(
    join(scratch, 'redocly.yaml'),
    // An id begins with its prefix and `_`, so that `by-name` in its place is none: the paths are told apart.
    JSON.stringify({ extends: ['recommended'], rules: { 'no-ambiguous-paths': 'off' } }),
  )
  writeFileSync(join(scratch, 'spectral.json'), JSON.stringify({ extends: ['spectral:oas'] }))
  const quiet = {
    cwd: scratch,
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }
  const redocly = await run(
    join(bin, 'redocly'),
    ['lint', '--config', 'redocly.yaml', '--format', 'json', document],
    quiet,
  )
  const problems = z
    .object({ problems: z.array(z.unknown()) })
    .parse(JSON.parse(redocly.slice(redocly.indexOf('{'), redocly.lastIndexOf('}') + 1)))
  expect(problems.problems).toEqual([])
  const severity = ['--ruleset', 'spectral.json', '--fail-severity', 'hint']
  await run(join(bin, 'spectral'), ['lint', ...severity, document], quiet)
})
