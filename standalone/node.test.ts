import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

const REPOSITORY = join(import.meta.dirname, '..')

test('every file that node.sh calls is there', () => {
  const script = readFileSync(join(REPOSITORY, 'standalone/node.sh'), 'utf8')
  const called = [...script.matchAll(/"\$here\/([\w./-]+\.sh)"/g)].map(([, file = '']) => file)
  expect(called).toEqual(['standalone/servers/unpack-debian.sh'])
  expect(called.filter((file) => !existsSync(join(REPOSITORY, file)))).toEqual([])
})
