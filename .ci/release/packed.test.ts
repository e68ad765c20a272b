import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { changedOf, sumLines, sumsOf } from './files.ts'
import { packFolder } from './packed.ts'

const COMMIT = { id: 'HEAD', seconds: 1_700_000_000 }
const NAMES = ['b.txt', 'a.txt', 'c/d.txt']

function folder(names: readonly string[], atSeconds: number): string {
  const work = mkdtempSync(join(tmpdir(), 'postern-packed-'))
  onTestFinished(() => rmSync(work, { recursive: true }))
  mkdirSync(join(work, 'kept/c'), { recursive: true, mode: atSeconds === 1 ? 0o700 : 0o755 })
  for (const name of names) {
    writeFileSync(join(work, 'kept', name), name)
    chmodSync(join(work, 'kept', name), atSeconds === 1 ? 0o600 : 0o644)
    utimesSync(join(work, 'kept', name), atSeconds, atSeconds)
  }
  return work
}

test('a folder packs to the same bytes whoever wrote it, in which order and when', () => {
  // oxlint-disable-next-line node/no-process-env -- tar is on its PATH
  const env = process.env
  const one = packFolder('kept', COMMIT, { cwd: folder(NAMES, 1), env })
  const other = packFolder('kept', COMMIT, { cwd: folder(NAMES.toReversed(), 2), env })
  expect(one.equals(other)).toBe(true)
  const listed = execFileSync('tar', ['-tzf', '-'], { input: one, encoding: 'utf8' })
  expect(listed.split('\n').filter((line) => line.endsWith('.txt'))).toEqual([
    'kept/a.txt',
    'kept/b.txt',
    'kept/c/d.txt',
  ])
})

test('a file that changed, a link that leads elsewhere and a file that is gone are told from before', () => {
  const work = join(folder(NAMES, 1), 'kept')
  symlinkSync('a.txt', join(work, 'link'))
  const paths = [...NAMES, 'link', 'none']
  const before = sumsOf(work, paths)
  expect([...before.keys()]).toEqual([...NAMES, 'link'])
  expect(changedOf(before, sumsOf(work, paths))).toEqual([])
  writeFileSync(join(work, 'a.txt'), 'other')
  rmSync(join(work, 'b.txt'))
  rmSync(join(work, 'link'))
  symlinkSync('c/d.txt', join(work, 'link'))
  expect(changedOf(before, sumsOf(work, paths))).toEqual(['b.txt', 'a.txt', 'link'])
})

test('the sums are in the form that sha256sum checks', () => {
  const work = join(folder(NAMES, 1), 'kept')
  const check = (): string =>
    execFileSync('sha256sum', ['--check', '--strict', '-'], {
      cwd: work,
      input: lines,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    })
  const lines = sumLines(sumsOf(work, NAMES))
  expect(check()).toContain('a.txt: OK')
  writeFileSync(join(work, 'a.txt'), 'other')
  expect(check).toThrow('Command failed')
})
