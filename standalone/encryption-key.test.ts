import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { readKeyring } from '../core/secrets/sealed.ts'
import { ensureEncryptionKey } from './encryption-key.ts'

test('ensureEncryptionKey() makes a key for its owner alone, once', () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-key-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = ensureEncryptionKey(directory)
  const key = readFileSync(file, 'utf8')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readKeyring(key.trim()).size).toBe(1)
  expect(readFileSync(ensureEncryptionKey(directory), 'utf8')).toBe(key)
})
