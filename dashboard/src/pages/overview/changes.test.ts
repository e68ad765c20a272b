import { expect, test } from 'vitest'

import { changesIn } from './changes.ts'

const entry = (at: string, action: string) => ({
  id: at,
  at,
  actor: 'key:key_1',
  actorName: 'ci-deploy',
  address: '192.0.2.7',
  action,
  projectId: 'prj_1',
  subjectKind: 'destination',
  subjectId: 'dst_1',
  changes: {},
})

test('changes belong to the bar in whose time they were made', () => {
  const changes = [
    entry('2026-11-20T11:00:00Z', 'destination.update'),
    entry('2026-11-20T10:59:59Z', 'destination.rotate_signing_secret'),
    entry('2026-11-20T10:00:00Z', 'destination.create'),
  ]
  const at = (hour: number) => Date.parse(`2026-11-20T${hour}:00:00Z`)
  expect(changesIn(changes, at(10), at(11))).toBe(
    '2 changes (destination rotate signing secret by ci-deploy, destination create by ci-deploy)',
  )
  expect(changesIn(changes, at(11), at(12))).toBe('1 change (destination update by ci-deploy)')
  expect(changesIn(changes, at(12), at(13))).toBeUndefined()
})
