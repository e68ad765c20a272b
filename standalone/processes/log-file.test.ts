import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { lastLines, trimLog, withLog } from './log-file.ts'

const LIMIT = 10 * 1024 * 1024

function logFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'postern-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return join(directory, 'api.log')
}

test('trimLog() leaves a file below 10 MB alone', () => {
  const file = logFile()
  writeFileSync(file, 'x'.repeat(LIMIT - 1))
  trimLog(file)
  expect(statSync(file).size).toBe(LIMIT - 1)
  expect(existsSync(`${file}.1`)).toBe(false)
})

test('trimLog() empties a full file under the writer that holds it open and keeps the old text once', () => {
  const file = logFile()
  writeFileSync(file, `${'x'.repeat(LIMIT - 1)}\n`)
  withLog(file, () => {}) // Opening a full log trims it, too.
  expect(statSync(`${file}.1`).size).toBe(LIMIT)
  withLog(file, (descriptor) => {
    writeSync(descriptor, 'y'.repeat(LIMIT))
    trimLog(file)
    writeSync(descriptor, 'next\n')
  })
  expect(readFileSync(file, 'utf8')).toBe('next\n')
  expect(readFileSync(`${file}.1`, 'utf8').startsWith('y')).toBe(true)
})

test('lastLines() is empty for a log that was never written', () => {
  const file = logFile()
  expect(lastLines(file, 2)).toBe('')
  writeFileSync(file, 'a\nb\nc\n')
  expect(lastLines(file, 2)).toBe('b\nc')
})
