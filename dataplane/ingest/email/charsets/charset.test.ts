import iconv from 'iconv-lite'
import { expect, test } from 'vitest'

import { decodeAs, decodeUndeclared, isUndeclared, labelOf } from './charset.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

test.for([
  ['utf-8', 'Grüße 你好'],
  ['iso-8859-1', 'Grüße'],
  ['iso-8859-15', '5 €'],
  ['windows-1252', '“5 €”'],
  ['windows-1250', 'žluťoučký'],
  ['windows-1251', 'Привет'],
  ['koi8-r', 'Привет'],
  ['iso-8859-7', 'Καλημέρα'],
  ['iso-8859-8', 'שלום'],
  ['windows-1256', 'مرحبا'],
  ['iso-8859-16', 'ș'],
  ['tis-620', 'สวัสดี'],
  ['macintosh', 'Grüße'],
  ['cp437', 'Grüße ░'],
  ['cp850', 'Grüße ░'],
  ['ibm850', 'Grüße'],
  ['cp866', 'Привет'],
  ['viscii', 'Việt'],
  ['shift_jis', '日本語'],
  ['cp932', '日本語'],
  ['euc-jp', '日本語'],
  ['gb2312', '汉字'],
  ['gb18030', '汉字'],
  ['big5', '漢字'],
  ['euc-kr', '한국어'],
  ['ks_c_5601-1987', '한국어'],
  ['utf-16', 'Grüße 你好'],
  ['utf-16be', 'Grüße 你好'],
  ['utf-32', 'Grüße 你好'],
  ['utf-7', 'Grüße + 你好 🎉 a+b'],
] as const)('%s is decoded', ([label, text]) => {
  expect(decodeAs(iconv.encode(text, label), label)).toEqual({ text, isWhole: true })
})

test.for([
  ['iso-2022-jp', '\x1b$BF|K\\8l\x1b(B a', '日本語 a'],
  ['iso-2022-jp-ms', '\x1b(B\x1b$BF|\x1b(B\x1b$BK\\8l\x1b(B', '日本語'],
  ['iso-2022-kr', '\x1b$)C\x0eGQ19>n\x0f a', '한국어 a'],
  ['hz-gb-2312', '~{>C4s~} ~~ a', '久大 ~ a'],
  ['hz-gb-2312', '~{>C4s\na', '久大\na'],
  ['iso-2022-kr', '\x0eGQ\na', '한\na'],
  ['unicode-1-1-utf-7', 'Die Fr+APY-sche, 1 +- 1', 'Die Frösche, 1 + 1'],
  ['utf-16', '\xfe\xff\x4f\x60', '你'],
  ['x-mac-roman', '\x8a', 'ä'],
] as const)('%s is decoded from its bytes', ([label, given, text]) => {
  expect(decodeAs(bytes(given), label)).toEqual({ text, isWhole: true })
})

test.for([
  ['utf-8', 'Gr\xfc\xdfe'],
  ['shift_jis', '\x83'],
  ['cp864', '\xff'],
  ['utf-7', 'Gr\xfc\xdfe'],
  ['utf-7', '+2D0- half a pair'],
  ['iso-2022-kr', 'a\x1b$Bb'],
  ['hz-gb-2312', '~{\x7e\x7e\x7e~}'],
  ['iso-2022-jp-2', '\x1b$(DF|\x1b(B'],
] as const)('bytes that are none of %s are noticed', ([label, given]) => {
  expect(decodeAs(bytes(given), label)).toMatchObject({ isWhole: false })
})

test.for(['x-none', 'iso-2022-cn', 'base64', 'hex', 'binary', 'utf-7-imap', 'x'.repeat(100_000)])(
  '%s is no charset',
  (label) => {
    expect(decodeAs(bytes('YWJj'), label)).toBeUndefined()
  },
)

test.for([
  ['UTF-8', 'utf-8'],
  ["'utf-8'", 'utf-8'],
  ['"utf-8"', 'utf-8'],
  ['charset=utf-8', 'utf-8'],
  ['Charset="UTF-8";', 'utf-8'],
  [' utf-8 ', 'utf-8'],
] as const)('the label %s', ([given, label]) => {
  expect(labelOf(given)).toBe(label)
})

test.for(['', 'us-ascii', 'ascii', 'ansi_x3.4-1968', 'unknown-8bit'])(
  '%s names no charset of bytes past ASCII',
  (label) => {
    expect(isUndeclared(label)).toBe(true)
  },
)

test('bytes without a charset are UTF-8 where they are valid, else windows-1252', () => {
  expect(decodeUndeclared(Buffer.from('Grüße'))).toBe('Grüße')
  expect(decodeUndeclared(bytes('Gr\xfc\xdfe \x80'))).toBe('Grüße €')
  expect(decodeUndeclared(bytes('\xff\xfea\0'))).toBe('a')
})
