import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { readVersion } from '../../../core/tracing/version.ts'
import { treeFaults } from './tree-faults.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const PATHS = globSync(
  ['*.{json,yaml,md}', 'charts/*/Chart.yaml', 'docs/*.md', 'docs/kubernetes/*.md'],
  { cwd: ROOT },
)

/** A copy of the files that state a version, of which it may change any. */
function copy(): { root: string; edit: (path: string, from: string, to: string) => void } {
  const root = mkdtempSync(join(tmpdir(), 'postern-tree-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const path of PATHS) cpSync(join(ROOT, path), join(root, path), { recursive: true })
  writeFileSync(join(root, 'CHANGELOG.md'), `# Changelog\n\n## [${readVersion()}]\n\n- It works.\n`)
  const edit = (path: string, from: string, to: string): void => {
    const text = readFileSync(join(root, path), 'utf8')
    expect(text).toContain(from)
    writeFileSync(join(root, path), text.replace(from, to))
  }
  return { root, edit }
}

const version = readVersion()

test('every file of this tree that names the version names the same one', () => {
  const { root } = copy()
  expect(PATHS.map((path) => dirname(path))).toEqual(
    expect.arrayContaining(['.', 'charts/postern', 'charts/postern-connector', 'docs/kubernetes']),
  )
  expect(treeFaults(root, { version, paths: PATHS, uncommitted: '' })).toEqual([])
})

test.for([
  ['package-lock.json', `"version": "${version}"`, '"version": "9.9.9"'],
  ['charts/postern/Chart.yaml', `appVersion: ${version}`, 'appVersion: 9.9.9'],
  ['charts/postern-connector/Chart.yaml', `\nversion: ${version}`, '\nversion: 9.9.9'],
  ['compose.yaml', `postern:${version}`, 'postern:9.9.9'],
  ['docs/kubernetes/install.md', `postern:${version}`, 'postern:9.9.9'],
  ['CHANGELOG.md', `[${version}]`, '[Unreleased]'],
] as const)('%s with another version keeps the tree from being released', ([path, from, to]) => {
  const { root, edit } = copy()
  edit(path, from, to)
  const faults = treeFaults(root, { version, paths: PATHS, uncommitted: '' })
  expect(faults).toHaveLength(1)
  expect(faults[0]).toContain(path)
})

test('so does a file that is not committed', () => {
  const { root } = copy()
  expect(treeFaults(root, { version, paths: PATHS, uncommitted: ' M core/ids.ts' })).toEqual([
    'Not committed:\n M core/ids.ts',
  ])
})
