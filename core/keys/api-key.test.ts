import { expect, test } from 'vitest'

import { makeApiKey, parseApiKey } from './api-key.ts'

test('makeApiKey() makes keys that parseApiKey() knows by their hash', () => {
  const key = makeApiKey('pst')
  expect(key.text).toMatch(/^pst_sk_[0-9A-Za-z]{43}$/)
  expect(parseApiKey('pst', key.text)).toEqual(key.hash)
  expect(key.hint).toBe(key.text.slice(-4))
  expect(makeApiKey('pst').text).not.toBe(key.text)
})

test('parseApiKey() refuses another prefix, a changed letter, another length and foreign letters', () => {
  const { text } = makeApiKey('pst')
  const changed = text.slice(0, 10) + (text[10] === 'a' ? 'b' : 'a') + text.slice(11)
  for (const wrong of [text.replace('pst', 'abc'), changed, text.slice(0, -1), `${text}0`, '']) {
    expect(parseApiKey('pst', wrong)).toBeUndefined()
  }
  expect(parseApiKey('pst', `${text.slice(0, -1)}-`)).toBeUndefined()
  expect(parseApiKey('pst', text.replace('_sk_', '_ag_'))).toBeUndefined()
})
