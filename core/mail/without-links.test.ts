import { expect, test } from 'vitest'

import { withoutLinks } from './without-links.ts'

test.for<[string, string]>([
  ['WIN 1000 EUR: http://evil.test/win', 'WIN 1000 EUR: …'],
  ['Claim at HTTPS://EVIL.TEST/claim now', 'Claim at … now'],
  ['Source "PAY at http://evil.test/0" rejected', 'Source "PAY at …" rejected'],
  ['go to www.evil', 'go to …'],
  ['go to evil.test', 'go to …'],
  ['(evil.test/a?b=c)', '(…)'],
  ['evil．test', '…'],
  ['evil。test', '…'],
  ['evil｡test', '…'],
  ['evil\u2024test', '…'],
  ['ev\u200Bil\u200B.te\u2060st', '…'],
  ['evil.\u00ADtest', '…'],
  ['пример.рф', '…'],
  ['evil.xn--p1ai', '…'],
  ['http：//evil', '…'],
  ['ｗｗｗ．evil', '…'],
  ['😀.to', '…'],
  ['write to a@evil.test', 'write to …'],
  ['mailto:me', '…'],
  ['tel:+4912345678', '…'],
  ['at 198.51.100.7', 'at …'],
  ['http:evil', '…'],
  ['\u202Etset.live', '…'],
  ['"evil.test"', '"…"'],
])('%s loses what a mail program would link', ([given, expected]) => {
  expect(withoutLinks(given)).toBe(expected)
})

test.for([
  'Ada Lovelace',
  'Dr. Ada B. Lovelace Jr.',
  'J. R. R. Tolkien',
  'Müller & Söhne (Zürich), No. 7',
  'Rejected 70 of 70 requests since 2026-11-25T10:00:00.000Z, 12.5 %.',
  'Version 1.2.3',
  'team: billing',
  '株式会社ポスト',
])('%s stays as it is', (text) => {
  expect(withoutLinks(text)).toBe(text)
})
