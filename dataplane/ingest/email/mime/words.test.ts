import { expect, test } from 'vitest'

import { decodeWords, type DecodingFault } from './words.ts'

test.for([
  ['plain', 'plain'],
  ['=?utf-8?q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
  ['=?UTF-8?B?R3LDvMOfZQ==?=', 'Grüße'],
  ['=?iso-8859-1?Q?Gr=FC=DFe_aus?= Wien', 'Grüße aus Wien'],
  ['Re: =?utf-8?q?a?= b =?utf-8?q?c?=', 'Re: a b c'],
  ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
  ['=?utf-8?q?a?=\t=?iso-8859-1?q?=E4?=', 'aä'],
  // A character that is cut between two words.
  ['=?utf-8?Q?=F0=9F?= =?utf-8?Q?=8E=89?=', '🎉'],
  ['=?utf-8?B?8J8=?= =?UTF-8?Q?=8E=89?=', '🎉'],
  ['=?iso-2022-jp?B?GyRCRnwbKEI=?= =?iso-2022-jp?B?GyRCS1wbKEI=?=', '日本'],
  // A word of UTF-7 that leaves its base64 open.
  ['=?utf-7?q?+APw?= =?utf-7?q?abc?=', 'üabc'],
  ['=?us-ascii?q?=C3=BC?=', 'ü'],
  ['=?utf-8*de?q?=C3=BC?=', 'ü'],
  ["=?'utf-8'?q?=C3=BC?=", 'ü'],
  ['=?unicode-1-1-utf-7?Q?Fr+APY-sche?=', 'Frösche'],
  ['=?iso-8859-1?q?a=?=', 'a='],
  ['=?utf-8?q??=', ''],
  ['=?utf-8?x?a?= =?utf-8?q', '=?utf-8?x?a?= =?utf-8?q'],
  ['Grüße Ã¼', 'Grüße Ã¼'],
  ['a\rb', 'a b'],
] as const)('%s', ([given, text]) => {
  const faults: DecodingFault[] = []
  expect(decodeWords(given, (fault) => faults.push(fault))).toBe(text)
  expect(faults).toEqual([])
})

test('a word of a charset that is not known stays as it is, and is reported', () => {
  const faults: DecodingFault[] = []
  const given = 'a =?x-none?Q?=FF?= =?x-none?Q?b?= =?utf-8?q?c?='
  expect(decodeWords(given, (fault) => faults.push(fault))).toBe(
    'a =?x-none?Q?=FF?= =?x-none?Q?b?=c',
  )
  expect(faults).toEqual([{ cause: 'unknown_charset', label: 'x-none' }])
})

test('bytes that are none of the charset are reported', () => {
  const faults: DecodingFault[] = []
  expect(decodeWords('=?utf-8?q?Gr=C3?=', (fault) => faults.push(fault))).toBe('Gr\uFFFD')
  expect(faults).toEqual([{ cause: 'invalid_bytes', label: 'utf-8' }])
})
