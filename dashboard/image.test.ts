import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The folders of the repository out of which the dashboard is built. */
function imported(): Set<string> {
  const folders = new Set<string>()
  for (const file of globSync('dashboard/src/**/*.{ts,tsx}', { cwd: ROOT })) {
    if (file.includes('.test.')) continue
    const text = readFileSync(join(ROOT, file), 'utf8')
    for (const [, path = ''] of text.matchAll(/from '(\.[^']+)'/g)) {
      folders.add(relative(ROOT, resolve(ROOT, file, '..', path)).split('/')[0] ?? '')
    }
  }
  return folders
}

test('the image is built with every folder that the dashboard imports from', () => {
  const containerfile = readFileSync(join(ROOT, 'Containerfile'), 'utf8')
  const [, stage = ''] = /AS dashboard\n(.+?)\nFROM/s.exec(containerfile) ?? []
  const [before = ''] = stage.split('vite.js build')
  const copied = [...before.matchAll(/^COPY (\w+) /gm)].map(([, folder = '']) => folder)
  expect([...imported()].toSorted()).toContain('dashboard')
  expect([...imported()].filter((folder) => !copied.includes(folder))).toEqual([])
})
