import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { takeLock } from './lock.ts'
import { startOf } from './os-process.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-lock-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

test('takeLock() refuses while another process holds it, naming its pid, and succeeds once that is dead', async () => {
  const holder = spawn('sleep', ['30'])
  await once(holder, 'spawn')
  const pid = holder.pid ?? 0
  writeFileSync(join(directory, 'lock'), `${pid} ${startOf(pid)}\n`)
  expect(() => takeLock(directory)).toThrow(`another start (pid ${pid}) already uses ${directory}`)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  using lock = takeLock(directory)
  expect(lock.wasStale).toBe(true)
})

test('takeLock() takes over from a process whose pid now belongs to another one', () => {
  writeFileSync(join(directory, 'lock'), `${process.pid} 1\n`)
  using lock = takeLock(directory)
  expect(lock.wasStale).toBe(true)
})

test('takeLock() gives the lock back when disposed of', () => {
  const lock = takeLock(directory)
  expect(lock.wasStale).toBe(false)
  lock[Symbol.dispose]()
  expect(existsSync(join(directory, 'lock'))).toBe(false)
})
