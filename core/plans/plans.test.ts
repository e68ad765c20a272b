import { expect, test } from 'vitest'

import { BUILT_IN_PLANS } from './built-in-plans.ts'
import {
  EntitlementOverrides,
  Entitlements,
  entitlementsOf,
  ingestClampOf,
  isPaced,
  PLAN_NAMES,
  retentionClassOf,
} from './plans.ts'

test.for([
  ['hobby', [3, 10, 20, 10_000, true, 1, 2, 2], 50],
  ['launch', [7, 50, 100, 100_000, false, 3, 3, 5], 500],
  ['scale', [30, 200, 400, 1_000_000, false, 10, 5, 20], 2_000],
  ['enterprise', [90, null, null, null, false, null, null, null], null],
] as const)('entitlementsOf(%s) is its row of the specification', ([plan, values, clamp]) => {
  const names = Object.keys(Entitlements.shape)
  const expected = Object.fromEntries(names.map((name, index) => [name, values[index]]))
  expect(entitlementsOf(BUILT_IN_PLANS, plan, {})).toEqual(expected)
  expect(ingestClampOf(BUILT_IN_PLANS, plan, {})).toBe(clamp)
  expect(isPaced(entitlementsOf(BUILT_IN_PLANS, plan, {}))).toBe(plan !== 'enterprise')
})

test('every plan grants what the schema allows, and nothing that is not in it', () => {
  for (const plan of PLAN_NAMES) {
    const overrides = { ingestRequestsPerSecond: 7 }
    expect(Entitlements.parse(entitlementsOf(BUILT_IN_PLANS, plan, overrides))).toEqual(
      entitlementsOf(BUILT_IN_PLANS, plan, {}),
    )
  }
})

test('overrides win, null included, and leave the rest of the plan', () => {
  const overrides = { deliveryQuota: null, isHardCapped: false, ingestRequestsPerSecond: null }
  expect(entitlementsOf(BUILT_IN_PLANS, 'hobby', overrides)).toEqual({
    ...entitlementsOf(BUILT_IN_PLANS, 'hobby', {}),
    deliveryQuota: null,
    isHardCapped: false,
  })
  expect(ingestClampOf(BUILT_IN_PLANS, 'hobby', overrides)).toBeNull()
  expect(ingestClampOf(BUILT_IN_PLANS, 'enterprise', { ingestRequestsPerSecond: 9 })).toBe(9)
})

test('isPaced() is true of an enterprise that negotiated a limit', () => {
  expect(
    isPaced(entitlementsOf(BUILT_IN_PLANS, 'enterprise', { burstDeliveriesPerSecond: 5 })),
  ).toBe(true)
})

test('a row that holds no plan, or an unknown override, is refused', () => {
  expect(() => entitlementsOf(BUILT_IN_PLANS, 'gold', {})).toThrow('Invalid option')
  expect(() => ingestClampOf(BUILT_IN_PLANS, 'gold', {})).toThrow('Invalid option')
  expect(() => entitlementsOf(BUILT_IN_PLANS, 'hobby', { seat: 1 })).toThrow('Unrecognized key')
})

test.for([
  [{ retentionDays: 91 }],
  [{ retentionDays: null }],
  [{ maxDeliveriesPerSecond: 0 }],
  [{ seats: 1.5 }],
  [{ seat: 2 }],
])('EntitlementOverrides refuses %j', ([overrides]) => {
  expect(EntitlementOverrides.safeParse(overrides).success).toBe(false)
})

test.for([
  [1, 3],
  [3, 3],
  [4, 7],
  [7, 7],
  [8, 30],
  [30, 30],
  [31, 90],
  [90, 90],
] as const)('retentionClassOf(%i) is %i', ([days, expected]) => {
  expect(retentionClassOf(days)).toBe(expected)
})
