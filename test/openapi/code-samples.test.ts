import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { ROOT } from '../kit/source-files.ts'
import { has, pythonTools, run } from './tools.ts'

/** The code that the reference shows is code: it compiles, and it works against a relay. */
const { apiUrl, dataDir } = inject('installation')
const cwd = mkdtempSync(join(tmpdir(), 'postern-samples-'))
const IS_CI = process.env['CI'] !== undefined
const noPython = !IS_CI && !(await has('python3', '-c', 'import venv, ensurepip'))
const noGo = !IS_CI && !(await has('go', 'version'))

const Sample = z.object({ label: z.string(), source: z.string() })
const Operation = z.object({ operationId: z.string(), 'x-codeSamples': z.array(Sample) })
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) })

/** By label: the code of each operation, by its id. */
const samples = new Map<string, Map<string, string>>()
/** Programs with an end that can be run again and again. */
const RUN = ['listEvents', 'upsertConnector', 'getPlan']

beforeAll(async () => {
  const document = Document.parse(await (await fetch(`${apiUrl}/openapi.json`)).json())
  for (const operation of Object.values(document.paths)
    .flatMap(Object.values)
    .map((one) => Operation.parse(one))) {
    for (const { label, source } of operation['x-codeSamples']) {
      const known = samples.get(label) ?? new Map<string, string>()
      samples.set(label, known.set(operation.operationId, source))
    }
  }
})
afterAll(() => rmSync(cwd, { recursive: true, force: true }))

/** Writes the code of a language, a file for each operation. */
function write(label: string, nameOf: (operationId: string) => string): string[] {
  const code = [...(samples.get(label) ?? [])]
  expect(code.length).toBeGreaterThan(50)
  return code.map(([operationId, source]) => {
    const file = join(cwd, nameOf(operationId))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, source)
    return file
  })
}

function environment(): Record<string, string> {
  const told = JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8'))
  const { apiKey } = z.object({ apiKey: z.string() }).parse(told)
  return { POSTERN_URL: apiUrl, POSTERN_API_KEY: apiKey }
}

test('curl', async () => {
  const files = write('curl', (id) => `curl/${id}.sh`)
  for (const file of files) await run('bash', ['-n', file], { cwd })
  for (const id of RUN) {
    const said = await run('bash', [`curl/${id}.sh`], { cwd, env: environment() })
    expect(said, id).not.toContain('"code"')
  }
})

test('TypeScript, with the client; the code of its documents compiles too', async () => {
  const files = write('TypeScript', (id) => `typescript/${id}.ts`)
  for (const [name, page] of Object.entries({
    readme: 'clients/typescript/README.md',
    docs: 'docs/clients.md',
  })) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const blocks = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code)
    expect(blocks.length).toBeGreaterThan(0)
    const file = join(cwd, 'typescript', `${name}.ts`)
    writeFileSync(file, blocks.join('\n'))
    files.push(file)
  }
  const modules = join(cwd, 'typescript', 'node_modules')
  mkdirSync(modules)
  symlinkSync(join(ROOT, 'clients/typescript'), join(modules, 'postern-client'))
  symlinkSync(join(ROOT, 'node_modules/@types'), join(modules, '@types'))
  writeFileSync(join(cwd, 'typescript', 'package.json'), '{"type":"module"}')
  const compilerOptions = {
    strict: true,
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    noEmit: true,
    allowImportingTsExtensions: true,
  }
  writeFileSync(
    join(cwd, 'typescript', 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files }),
  )
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'typescript'], { cwd })
  for (const id of RUN) {
    await run(process.execPath, [`typescript/${id}.ts`], { cwd, env: environment() })
  }
})

test.skipIf(noPython)('Python (needs python3 with venv)', async () => {
  const files = write('Python', (id) => `python/${id}.py`)
  const python = join(await pythonTools(), 'bin', 'python')
  expect(await run(python, ['-m', 'py_compile', ...files], { cwd })).toBe('')
  for (const id of RUN) await run(python, [`python/${id}.py`], { cwd, env: environment() })
})

test.skipIf(noGo)('Go (needs go)', async () => {
  write('Go', (id) => `go/${id}/main.go`)
  writeFileSync(join(cwd, 'go', 'go.mod'), 'module samples\n\ngo 1.24\n')
  const inGo = { cwd: join(cwd, 'go') }
  await run('go', ['vet', './...'], inGo)
  expect(await run('gofmt', ['-l', '.'], inGo)).toBe('')
  for (const id of RUN) await run('go', ['run', `./${id}`], { ...inGo, env: environment() })
})
