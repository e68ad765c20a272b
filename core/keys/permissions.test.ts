import { expect, test } from 'vitest'

import { covers, grantsAnything, type Permissions } from './permissions.ts'

test.for<[Permissions | null, 'read' | 'write', boolean, boolean]>([
  [{ sources: 'write' }, 'write', true, true],
  [{ sources: 'write' }, 'read', false, true],
  [{ sources: 'read' }, 'read', false, true],
  [{ sources: 'read' }, 'write', false, false],
  [{ sources: 'none' }, 'read', false, false],
  [{ events: 'write' }, 'read', false, false],
  [null, 'read', false, true],
  [null, 'write', false, true],
  [null, 'write', true, false],
  [null, 'read', true, false],
])(
  'covers(%j) answers a %s need (explicit: %s) with %s',
  ([permissions, level, explicit, expected]) => {
    const need = {
      resource: 'sources',
      level,
      ...(explicit && { isExplicit: true as const }),
    } as const
    expect(covers(permissions, need)).toBe(expected)
  },
)

test('grantsAnything() wants one level above none', () => {
  expect(grantsAnything({})).toBe(false)
  expect(grantsAnything({ sources: 'none' })).toBe(false)
  expect(grantsAnything({ sources: 'none', events: 'read' })).toBe(true)
})
