import { expect, test } from 'vitest'

import { shownBody, shownPairs, shownText, urlWithoutSecrets } from './redaction.ts'

test.for<[string, string]>([
  ['{"password":"hunter2","a":1}', '{"password":"***","a":1}'],
  ['{"Client-Secret" : "x\\"y", "b": 2}', '{"Client-Secret" : "***", "b": 2}'],
  ['{"author":"Ada","tokens_used":"7"}', '{"author":"Ada","tokens_used":"***"}'],
  ['{"access_token":"unfinished', '{"access_token":"***"'],
  ['grant_type=x&client_secret=abc&page=2', 'grant_type=x&client_secret=***&page=2'],
  ['see https://a.example/?api_key=abc for more', 'see https://a.example/?api_key=*** for more'],
  [`key pst_sk_${'a'.repeat(43)} here`, 'key *** here'],
  [`key acme_ag_${'A1'.repeat(21)}b.`, 'key ***.'],
  ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '***'],
  ['Authorization: Bearer abcdefgh12345', 'Authorization: ***'],
  ['curl with Bearer abcdefgh12345', 'curl with Bearer ***'],
  ['ghp_0123456789abcdefghij0123456789abcdef', '***'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3jVmN', '***'],
  ['-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----', '***'],
  ['nothing to hide: order 12 of Ada', 'nothing to hide: order 12 of Ada'],
])('%s is shown as %s', ([text, shown]) => {
  expect(shownText(text)).toBe(shown)
})

test('a text is cut, and a secret across the cut is not shown in part', () => {
  expect(shownText('x'.repeat(600))).toBe(`${'x'.repeat(499)}…`)
  const secret = `whsec_${'S'.repeat(40)}`
  expect(shownText(`${'x '.repeat(245)}${secret}`)).not.toContain('whsec')
  const body = `${'x'.repeat(8_180)} ${secret} ${'y'.repeat(20_000)}`
  expect(shownBody(body)).toEqual({ body: `${'x'.repeat(8_180)} *** yyyyyyy`, truncated: true })
})

test('a body is cut between two characters', () => {
  const { body, truncated } = shownBody(`a${'é'.repeat(5_000)}`)
  expect(truncated).toBe(true)
  expect(body).toBe(`a${'é'.repeat(4_095)}`)
  expect(shownBody('short')).toEqual({ body: 'short', truncated: false })
  expect(shownBody('é'.repeat(4_096)).truncated).toBe(false)
})

test('values of headers and parameters are masked by their names', () => {
  const shown = shownPairs([
    ['Authorization', 'Bearer x'],
    ['X-Gitlab-Token', 'x'],
    ['sig', 'x'],
    ['X-Signed-By', 'Ada'],
    ['design', 'blue'],
  ])
  expect(shown.map(([, value]) => value)).toEqual(['***', '***', '***', 'Ada', 'blue'])
  expect(urlWithoutSecrets('https://a.example/hook?sig=abc&b=1&token=x')).toBe(
    'https://a.example/hook?sig=***&b=1&token=***',
  )
})
