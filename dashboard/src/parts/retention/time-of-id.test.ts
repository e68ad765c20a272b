import { expect, test } from 'vitest'

import { timeOfId } from './time-of-id.ts'

// As the API made them.
test.for([
  ['evt_01m7wd7tkve00bj8h463jmjk1e', '2026-11-20T12:00:00.123Z'],
  ['dlv_00wf3ted00e00a5xpqzsts7feb', '2001-01-01T00:00:00.000Z'],
  ['evt_06m50m5mzze009e5v34aqc39qs', '2200-12-31T23:59:59.999Z'],
] as const)('%s is of %s', ([id, at]) => {
  expect(timeOfId(id)).toBe(Date.parse(at))
})

test('a text that is no id has no time', () => {
  for (const text of ['', 'evt_', 'evt_short', 'evt_zzzzzzzzzzzzzzzzzzzzzzzzzz']) {
    expect(timeOfId(text)).toBeUndefined()
  }
})
