import { expect, test } from 'vitest'

import { databaseHostsOf, databaseUrlsOf } from './database-urls.ts'

test.for([
  [
    'postgres://u:p@a:5432,b:5433/db?x=1,2',
    ['postgres://u:p@a:5432/db?x=1,2', 'postgres://u:p@b:5433/db?x=1,2'],
  ],
  ['postgres://u:p,q@a/db', ['postgres://u:p,q@a/db']],
  ['postgres://u:p,q@r@a,b/db', ['postgres://u:p,q@r@a/db', 'postgres://u:p,q@r@b/db']],
  [
    'postgresql://[::1]:5432,[fe80::2]/db',
    ['postgresql://[::1]:5432/db', 'postgresql://[fe80::2]/db'],
  ],
  ['postgres://a,b', ['postgres://a', 'postgres://b']],
  ['postgres:///db?host=/run/postgresql', ['postgres:///db?host=/run/postgresql']],
  ['no url', ['no url']],
] as const)('the servers of %s', ([text, urls]) => {
  expect(databaseUrlsOf(text)).toEqual(urls)
})

test('the hosts are named as they are written', () => {
  expect(databaseHostsOf('postgres://u:p,q@a:5432,[::1]:5433/db')).toEqual(['a:5432', '[::1]:5433'])
})
