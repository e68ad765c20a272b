import { randomBytes } from 'node:crypto'

import { expect, test } from 'vitest'

import { readKeyring, seal, unseal } from './sealed.ts'

const KEY_A = randomBytes(32).toString('base64')
const KEY_B = randomBytes(32).toString('base64')

test('unseal() returns what seal() took, under the key that sealed it', () => {
  const before = readKeyring(`a:${KEY_A}`)
  const sealed = seal(before, { secret: 's3cret' })
  expect(sealed.includes('s3cret')).toBe(false)
  const after = readKeyring(`b:${KEY_B},a:${KEY_A}`)
  expect(unseal(after, sealed)).toEqual({ secret: 's3cret' })
  expect(() => unseal(readKeyring(`b:${KEY_B}`), sealed)).toThrow('encryption key "a"')
})

test('unseal() refuses a changed byte anywhere', () => {
  const keyring = readKeyring(KEY_A)
  const sealed = seal(keyring, 'x')
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(() => unseal(keyring, changed)).toThrow(/unseal|unable|authenticat|Invalid/i)
  }
})

test('readKeyring() refuses a short key without showing it', () => {
  expect(() => readKeyring('c2hvcnQ=')).toThrow('must be base64 of 32 bytes')
})
