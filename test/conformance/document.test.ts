import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SUITE = 'test/conformance'
const OWN = `${SUITE}/document.test.ts`

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** `file: name` of each row that names a test. */
const listed = textOf('docs/conformance.md')
  .split('\n')
  .flatMap((line) => {
    const [, file, name] = /\| (test\/\S+) +\| `(.*)` +\|$/.exec(line) ?? []
    return file === undefined ? [] : [{ file, name: name ?? '' }]
  })

/** The names as the file writes them, before a table fills them in. */
function namesIn(file: string): string[] {
  const names = textOf(file).matchAll(
    /^test(?:\.(?:each|for)\((?:[^()]|\([^()]*\))*\))?\(\s*(['"`])((?:\\.|(?!\1)[^])*)\1/gm,
  )
  return [...names].map(([, , name = '']) => name.replaceAll(String.raw`\'`, "'"))
}

test('every test that docs/conformance.md names exists', () => {
  expect(listed.length).toBeGreaterThan(100)
  const missing = listed.filter(({ file, name }) => !namesIn(file).includes(name))
  expect(missing).toEqual([])
})

test('docs/conformance.md names every test of the suite', () => {
  const files = readdirSync(join(ROOT, SUITE))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `${SUITE}/${name}`)
    .filter((file) => file !== OWN)
  const isListed = new Set(listed.map(({ file, name }) => `${file}: ${name}`))
  const names = files.flatMap((file) => namesIn(file).map((name) => `${file}: ${name}`))
  expect(names.length).toBeGreaterThan(100)
  expect(names.filter((name) => !isListed.has(name))).toEqual([])
  const tests = files.flatMap((file) => textOf(file).match(/^test\b/gm) ?? [])
  expect(tests).toHaveLength(names.length)
})
