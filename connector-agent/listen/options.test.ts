import { hostname } from 'node:os'

import { expect, test } from 'vitest'

import { nameOf, readListenOptions } from './options.ts'

const words = (line: string): string[] => line.split(' ').filter((word) => word !== '')

test.for([
  ['3000', 'http://localhost:3000/'],
  [':3000', 'http://localhost:3000/'],
  ['localhost:3000', 'http://localhost:3000/'],
  ['127.0.0.1:3000/a?b=1', 'http://127.0.0.1:3000/a?b=1'],
  ['https://localhost:3000', 'https://localhost:3000/'],
  ['http://localhost:3000/hooks#x', 'http://localhost:3000/hooks'],
  ['[::1]:3000', 'http://[::1]:3000/'],
  ['3000 --path /hooks', 'http://localhost:3000/hooks'],
  ['3000 --path hooks/a?b=1', 'http://localhost:3000/hooks/a?b=1'],
  ['--path /hooks 3000', 'http://localhost:3000/hooks'],
] as const)('"%s" is %s', ([line, url]) => {
  expect(readListenOptions(words(line)).target.href).toBe(url)
})

test('every flag is read', () => {
  const line =
    '3000 --source shop --preset stripe --secret-file s --events a,b.* --events c --verbose'
  expect(readListenOptions(words(line))).toMatchObject({
    source: 'shop',
    preset: 'stripe',
    secretFile: 's',
    events: ['a', 'b.*', 'c'],
    isVerbose: true,
  })
})

test.for([
  ['', 'Name the port of your server: npm run listen -- 3000'],
  ['0', '"0" is no port and no address'],
  ['70000', '"70000" is no port and no address'],
  ['3000 4000', 'Expected one port or address, got 2'],
  ['http://me:secret@localhost:3000', 'is no port and no address'],
  ['3000 --event a', '--event is no flag: is it --events?'],
  ['3000 --secret hunter2', '--secret: a secret does not belong in the arguments'],
  ['3000 --secret-file s', '--secret-file is the secret of a --preset'],
  ['3000 --path', '--path needs a value behind it'],
  ['3000 --path //evil.example/', '--path must be a path'],
  ['localhost:3000/a --path /b', 'The address has a path already'],
  ['3000 --source a --source b', '--source is given twice'],
] as const)('"%s" is refused: %s', ([line, fault]) => {
  expect(() => readListenOptions(words(line))).toThrow(fault)
})

test('all faults are named at once', () => {
  const line = '3000 4000 --event a --secret hunter2'
  expect(() => readListenOptions(words(line))).toThrow(/--event is[^]*--secret:[^]*got 2/)
  expect(() => readListenOptions(words(line))).not.toThrow(/hunter2/)
})

test('another port, path or source has another name, and every name fits', () => {
  const name = (line: string): string => nameOf(readListenOptions(words(line)))
  expect(name('3000')).toBe(`listen ${hostname()} :3000`.slice(0, 100))
  const all = ['3000', '3001', '3000 --path /a', '3000 --source a', '3000 --preset stripe']
  expect(new Set(all.map(name)).size).toBe(all.length)
  const long = [`3000 --path /${'a'.repeat(200)}b`, `3000 --path /${'a'.repeat(200)}c`].map(name)
  expect(new Set(long).size).toBe(2)
  for (const each of long) expect(each.length).toBeLessThanOrEqual(100)
})
