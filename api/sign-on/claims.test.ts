import { expect, test } from 'vitest'

import { isVerifiedBy, readProof } from './claims.ts'

const ISSUER = 'https://login.example.com/realms/main'
const COGNITO = 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC123'
const NOW_S = 1_800_000_000
const claims = { sub: 'ada', iat: NOW_S, auth_time: NOW_S - 30 }

test.for([
  [ISSUER, true, true],
  [COGNITO, true, true],
  [COGNITO, 'true', true],
  ['https://appleid.apple.com', 'true', true],
  [ISSUER, 'true', false],
  ['https://appleid.apple.com.evil.example', 'true', false],
  ['https://cognito-idp.evil.example/a.amazonaws.com/x', 'true', false],
  [COGNITO, 'false', false],
  [COGNITO, 'TRUE', false],
  [COGNITO, ['true'], false],
  [ISSUER, [true], false],
  [ISSUER, { toString: 'true' }, false],
  [ISSUER, 1, false],
  [ISSUER, '1', false],
  [ISSUER, false, false],
  [ISSUER, null, false],
  [ISSUER, undefined, false],
] as const)('isVerifiedBy() of %s reads %j as %s', ([issuer, claim, expected]) => {
  expect(isVerifiedBy(issuer, claim)).toBe(expected)
})

test.for([
  ['', 'an empty subject'],
  [undefined, 'none'],
  [7, 'a number'],
  [['ada'], 'a list'],
  ['a'.repeat(256), 'one longer than the standard allows'],
] as const)('readProof() refuses the subject %j: %s', ([sub]) => {
  expect(() => readProof({ ...claims, sub }, NOW_S * 1_000)).toThrow('no usable sub')
})

test.for([
  [{ iat: 9_000_000_000 }, 'not written now'],
  [{ iat: NOW_S + 61 }, 'not written now'],
  [{ iat: NOW_S - 661 }, 'not written now'],
  [{ iat: -1 }, 'no usable iat'],
  [{ iat: NOW_S + 0.5 }, 'no usable iat'],
  [{ iat: String(NOW_S) }, 'no usable iat'],
  [{ iat: undefined }, 'no usable iat'],
  [{ auth_time: NOW_S + 61 }, 'later than it was written'],
  [{ auth_time: -1 }, 'no usable auth_time'],
  [{ auth_time: [NOW_S] }, 'no usable auth_time'],
  [{ auth_time: null }, 'no usable auth_time'],
] as const)('readProof() refuses %j', ([change, message]) => {
  expect(() => readProof({ ...claims, ...change }, NOW_S * 1_000)).toThrow(message)
})

test('readProof() says for how long the provider had not asked, clocks that differ by a minute included', () => {
  const proof = (change: object) => readProof({ ...claims, ...change }, NOW_S * 1_000)
  expect(proof({})).toEqual({ subject: 'ada', provedAgoSeconds: 30 })
  expect(proof({ iat: NOW_S + 60 })).toEqual({ subject: 'ada', provedAgoSeconds: 90 })
  expect(proof({ auth_time: NOW_S + 60 })).toEqual({ subject: 'ada', provedAgoSeconds: 0 })
  expect(proof({ auth_time: undefined }).provedAgoSeconds).toBeUndefined()
})
