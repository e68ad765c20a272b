import { expect, test } from 'vitest'

import { newId } from '../ids.ts'
import { samplerOf } from './sampling.ts'
import { traceIdOf } from './trace-context.ts'

const IDS = Array.from({ length: 20_000 }, () => traceIdOf(newId(Date.now())))
const PARENT = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) }
const SAMPLED = { ...PARENT, isSampled: true }
const UNSAMPLED = { ...PARENT, isSampled: false }

test.for([
  ['always_on', 1, 1, 1],
  ['always_off', 0, 0, 0],
  ['parentbased_always_on', 1, 1, 0],
  ['parentbased_always_off', 0, 1, 0],
] as const)('%s', ([name, root, underSampled, underUnsampled]) => {
  const sample = samplerOf(name, 0.5)
  const share = (parent?: typeof SAMPLED): number =>
    IDS.filter((id) => sample(id, parent)).length / IDS.length
  expect([share(), share(SAMPLED), share(UNSAMPLED)]).toEqual([root, underSampled, underUnsampled])
})

test.for([0, 0.1, 0.5, 1])('a ratio of %d takes that share, by the id alone', (ratio) => {
  const sample = samplerOf('traceidratio', ratio)
  const again = samplerOf('parentbased_traceidratio', ratio)
  const taken = IDS.filter((id) => sample(id, undefined))
  expect(Math.abs(taken.length / IDS.length - ratio)).toBeLessThan(ratio % 1 === 0 ? 1e-9 : 0.02)
  expect(IDS.filter((id) => again(id, undefined))).toEqual(taken)
  expect(IDS.filter((id) => sample(id, UNSAMPLED))).toEqual(taken)
  expect(IDS.filter((id) => again(id, SAMPLED))).toHaveLength(IDS.length)
  expect(IDS.filter((id) => again(id, UNSAMPLED))).toHaveLength(0)
})

test('a larger share contains the smaller', () => {
  const [some, more] = [samplerOf('traceidratio', 0.1), samplerOf('traceidratio', 0.3)]
  expect(IDS.filter((id) => some(id, undefined) && !more(id, undefined))).toEqual([])
})
