import { setTimeout as sleep } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { within } from './within.ts'

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('within() gives the result of work that ends in time, undefined too', async () => {
  const late = () => 'late'
  expect(await within(1_000, Promise.resolve('done'), late)).toBe('done')
  expect(await within(1_000, Promise.resolve(undefined), late)).toBeUndefined()
})

test('within() gives what late() gives, or throws what it throws', async () => {
  const never = new Promise<string>(() => {})
  expect(await within(10, never, () => 'late')).toBe('late')
  const refuse = () => {
    throw new Error('too late')
  }
  await expect(within(10, never, refuse)).rejects.toThrow('too late')
})

test('within() throws what the work throws', async () => {
  await expect(within(1_000, Promise.reject(new Error('broken')), () => 1)).rejects.toThrow(
    'broken',
  )
})

test('within() ignores work that fails after its time', async () => {
  const work = sleep(20).then(() => Promise.reject(new Error('after the end')))
  expect(await within(5, work, () => 'late')).toBe('late')
  await sleep(30)
})

test('within() leaves no timer behind', async () => {
  const before = timers()
  await within(60_000, Promise.resolve(), () => undefined)
  expect(timers()).toBe(before)
})
