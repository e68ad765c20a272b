import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { SOCKETS_MAX } from '../../core/limits.ts'
import { socketsOf } from './sockets-max.ts'

test.for([
  ['256', 128],
  ['1024', 512],
  ['4096', 3_584],
  ['1048576', SOCKETS_MAX],
  ['unlimited', SOCKETS_MAX],
] as const)('a process that may open %s files has %i attempts under way', async ([soft, most]) => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'sockets-'))
  const file = join(directory.path, 'limits')
  const line = `Max open files            ${soft.padEnd(20)} 1048576              files     \n`
  await writeFile(
    file,
    `Limit                     Soft Limit           Hard Limit           Units     \n${line}`,
  )
  expect(await socketsOf(file)).toBe(most)
})

test('a machine that shows no limits has the most', async () => {
  expect(await socketsOf('/no/such/file')).toBe(SOCKETS_MAX)
})
