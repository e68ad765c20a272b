import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const ASSETS = fileURLToPath(new URL('../../dashboard/dist/assets', import.meta.url))
const ENTRY_MAX = 115_000
const CHUNK_MAX = 60_000

const compressed = (name: string): number => readFileSync(join(ASSETS, `${name}.gz`)).length
const scripts = readdirSync(ASSETS).filter((name) => name.endsWith('.js'))

/** All that is loaded before any page: the scripts that the first names, and those that these name. */
function entry(): string[] {
  const page = readFileSync(join(ASSETS, '../index.html'), 'utf8')
  const first = [...page.matchAll(/assets\/([\w-]+\.js)/g)].map(([, name]) => name ?? '')
  const loaded = new Set(first)
  for (const name of loaded) {
    const text = readFileSync(join(ASSETS, name), 'utf8')
    for (const [, next = ''] of text.matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g))
      loaded.add(next)
  }
  return [...loaded]
}

test('the scripts that every page needs are at most 115 kB', () => {
  const files = entry()
  expect(files.length).toBeGreaterThan(0)
  expect(files.reduce((sum, name) => sum + compressed(name), 0)).toBeLessThanOrEqual(ENTRY_MAX)
})

test('a page adds at most 60 kB in a file', () => {
  const shared = new Set(entry())
  const large = scripts.filter((name) => !shared.has(name) && compressed(name) > CHUNK_MAX)
  expect(scripts.length).toBeGreaterThan(20)
  expect(large).toEqual([])
})
