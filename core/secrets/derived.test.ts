import { randomBytes } from 'node:crypto'

import { expect, test } from 'vitest'

import { deriveKeyring, digestOf } from './derived.ts'
import { seal, unseal, type Keyring } from './sealed.ts'

const installation: Keyring = new Map([
  ['b', randomBytes(32)],
  ['a', randomBytes(32)],
])
const scope = { salt: randomBytes(32), purpose: 'test' }

test('a secret sealed by a derived keyring opens under the same secret, salt, purpose and installation only', () => {
  const sealed = seal(deriveKeyring(installation, 'secret', scope), { a: 1 })
  const opened = (keyring: Keyring) => unseal(keyring, sealed)
  expect(opened(deriveKeyring(installation, 'secret', scope))).toEqual({ a: 1 })
  const others: Keyring[] = [
    installation,
    deriveKeyring(installation, 'Secret', scope),
    deriveKeyring(installation, 'secret', { ...scope, salt: randomBytes(32) }),
    deriveKeyring(installation, 'secret', { ...scope, purpose: 'other' }),
    deriveKeyring(new Map([['b', randomBytes(32)]]), 'secret', scope),
  ]
  for (const other of others) expect(() => opened(other)).toThrow(/unable to authenticate/)
})

test('a derived keyring opens what an older key of the installation sealed', () => {
  const before: Keyring = new Map([...installation].slice(1))
  const sealed = seal(deriveKeyring(before, 'secret', scope), 'x')
  expect(unseal(deriveKeyring(installation, 'secret', scope), sealed)).toBe('x')
})

test('digestOf() tells where one part ends', () => {
  expect(digestOf(['ab', 'c'])).not.toEqual(digestOf(['a', 'bc']))
  expect(digestOf(['ab', ''])).not.toEqual(digestOf(['ab']))
  expect(digestOf([Buffer.from('é')])).toEqual(digestOf(['é']))
})
