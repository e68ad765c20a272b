import { expect, test } from 'vitest'

import { deliverySearch, eventSearch } from './searches.ts'

test('an address keeps what its page knows, and drops the rest where the router would keep it', () => {
  const raw = { status: 'lost', from: 'soon', q: 'order', live: 'true', more: 1 }
  // As the router does it.
  expect({ ...raw, ...eventSearch(raw) }).toEqual({ q: 'order', live: true })
  expect({ code: '99', ...deliverySearch({ code: '99' }) }).toEqual({})
})
