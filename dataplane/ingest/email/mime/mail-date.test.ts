import { expect, test } from 'vitest'

import { readMailDate } from './mail-date.ts'

const SUMMER = '2007-07-24T18:55:07.000Z'

test.for([
  ['Tue, 24 Jul 2007 18:55:07 +0000', SUMMER],
  ['Tue, 24 Jul 2007 20:55:07 +0200', SUMMER],
  ['Tue, 24 Jul 2007 14:55:07 -0400 (EDT)', SUMMER],
  ['Tue, 24 Jul 2007 14:55:07 EDT', SUMMER],
  ['24 Jul 2007 18:55:07 GMT', SUMMER],
  ['Tue (day), 24 (the (second)) Jul 2007 18 : 55 : 07 UT', SUMMER],
  ['Tue, 24 Jul 07 18:55:07 Z', SUMMER],
  ['Tue, 24 July 2007 18:55:07', SUMMER],
  ['Tuesday, 24-Jul-07 18:55:07 GMT', SUMMER],
  ['Tue, 24 Jul 2007 18:55:07 CEST', SUMMER],
  ['Tue, 24 Jul 2007 20:55:07 GMT+02:00', SUMMER],
  ['Tue Jul 24 18:55:07 2007', SUMMER],
  ['Tue Jul 24 20:55:07 2007 +0200', SUMMER],
  ['Tue Jul 24 20:55:07 +0200 2007', SUMMER],
  ['July 24, 2007 18:55:07 +0000', SUMMER],
  ['2007-07-24T18:55:07Z', SUMMER],
  ['2007-07-24T18:55:07', SUMMER],
  ['2007-07-24 20:55:07.123+02:00', SUMMER],
  ['24 Jul 99 18:55 -0000', '1999-07-24T18:55:00.000Z'],
  ['24 Jul 107 18:55 -0000', '2007-07-24T18:55:00.000Z'],
  ['31 Dec 2016 23:59:60 +0000', '2017-01-01T00:00:00.000Z'],
  ['29 Feb 2024 00:00:00 +1345', '2024-02-28T10:15:00.000Z'],
] as const)('%s is a time', ([text, time]) => {
  expect(readMailDate(text)).toBe(time)
})

test.for([
  '',
  '0',
  '-1',
  '2024',
  '2024-02-30T00:00:00Z',
  '2024-01-02',
  '30 Feb 2024 00:00:00 +0000',
  '29 Feb 2023 00:00:00 +0000',
  '0 Jan 2024 00:00:00 +0000',
  '1 Foo 2024 00:00:00 +0000',
  '1 Jan 2024',
  '1 Jan 2024 24:00:00 +0000',
  '1 Jan 2024 00:60:00 +0000',
  '1 Jan 2024 00:00:61 +0000',
  '1 Jan 2024 00:00:00 +2400',
  '1 Jan 2024 06:55:07 PM',
  '1 Jan 1899 00:00:00 +0000',
  'tomorrow',
  '1 Jan 2024 00:00:00 +0000 x',
  `1 Jan 2024 00:00:00 ${'('.repeat(1_000)}`,
])('%s is no time', (text) => {
  expect(readMailDate(text)).toBeUndefined()
})
