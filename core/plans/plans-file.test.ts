import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { BUILT_IN_PLANS } from './built-in-plans.ts'
import { readPlans } from './plans-file.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-plans-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function fileOf(text: string): string {
  const file = join(directory, `${crypto.randomUUID()}.json`)
  writeFileSync(file, text)
  return file
}

test('readPlans() without a file is the built-in plans', () => {
  expect(readPlans(undefined)).toEqual(BUILT_IN_PLANS)
})

test('readPlans() overrides the members that the file names, null included, and no other', () => {
  const text = '{"hobby":{"deliveryQuota":20000,"isHardCapped":false},"scale":{"seats":null}}'
  expect(readPlans(fileOf(text))).toEqual({
    ...BUILT_IN_PLANS,
    hobby: { ...BUILT_IN_PLANS.hobby, deliveryQuota: 20_000, isHardCapped: false },
    scale: { ...BUILT_IN_PLANS.scale, seats: null },
  })
})

test.for<[text: string, fault: string]>([
  ['{"hobby":{"deliveryQuota":"many"}}', 'hobby.deliveryQuota: '],
  ['{"hobby":{"deliveryQuotas":1}}', 'hobby.deliveryQuotas: Unknown member'],
  ['{"launch":{"retentionDays":91}}', 'launch.retentionDays: '],
  ['{"gold":{}}', 'gold'],
  ['[]', 'the file: '],
  ['{', 'cannot be read as JSON'],
])('readPlans() refuses %s and names the file and the member', ([text, fault]) => {
  const file = fileOf(text)
  expect(() => readPlans(file)).toThrow(fault)
  expect(() => readPlans(file)).toThrow(`PLANS_FILE "${file}"`)
})

test('readPlans() names a file that is not there', () => {
  expect(() => readPlans(join(directory, 'none.json'))).toThrow('none.json')
})
