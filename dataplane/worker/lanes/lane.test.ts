import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'

import { openClock } from '../../../core/clock.ts'
import type { Parked } from '../../../core/db/deliveries/work/waiting.ts'
import {
  DESTINATION_CONCURRENCY_DEFAULT,
  SOCKETS_MAX,
  WORK_BYTES_MAX,
} from '../../../core/limits.ts'
import type { Pace } from '../../../core/pacing/gcra.ts'
import { Allowances } from '../in-flight/allowances.ts'
import { ByteBudget } from '../in-flight/byte-budget.ts'
import { InFlight } from '../in-flight/in-flight.ts'
import { SAMPLE_DESTINATION, sampleWork } from '../in-flight/sample-work.fixture.ts'
import { Withdrawals } from '../in-flight/withdrawals.ts'
import { Pacer } from '../pacing/pacer.ts'
import type { LaneDeps } from './lane-deps.ts'
import { Lane } from './lane.ts'

/** After which a lane that is full does not keep up. */
const SECOND_MS = 1_000

/** More than a lane holds in memory. */
const BACKLOG = 5_000

/** A lane that counts what it sends and parks. */
function openLane(deliver: LaneDeps['deliver'], given: Partial<LaneDeps> = {}, pace?: Pace) {
  const clock = openClock()
  const parked: Parked[] = []
  const inFlight = new InFlight()
  const seen = { sent: 0, madeRoom: 0 }
  const lane = new Lane(
    {
      clock,
      log: pino({ level: 'silent' }),
      pacer: new Pacer(),
      allowances: new Allowances(SOCKETS_MAX),
      largeBodies: new ByteBudget(1),
      largeBodiesOf: () => new ByteBudget(1),
      readBody: async () => undefined,
      deliver: async (work, destination) => {
        seen.sent++
        const outcome = await deliver(work, destination)
        inFlight.settle(work)
        return outcome
      },
      withdrawals: new Withdrawals(clock),
      inFlight,
      standingOf: () => 'held',
      park: async (rows) => void parked.push(...rows),
      cancel: async () => undefined,
      claimParked: async () => ({ works: [], isAll: true }),
      moveParked: async () => undefined,
      madeRoom: () => seen.madeRoom++,
      noteBusy: () => undefined,
      notePaced: () => undefined,
      ...given,
    },
    { destinationId: '', partition: 0 },
    { ...SAMPLE_DESTINATION, pace },
  )
  onTestFinished(() => lane[Symbol.dispose]())
  return { lane, parked, seen }
}

test('a lane that keeps up pauses the pull of its partition when it is full, parks nothing, and says when it has room', async () => {
  const { lane, parked, seen } = openLane(async () => {
    await nextTurn()
    return { hasSucceeded: true, busy: null }
  })
  let heldBack = 0
  for (let n = 0; n < BACKLOG; n++) {
    if (lane.pausesPull) heldBack++
    while (lane.pausesPull) await nextTurn()
    lane.admit(sampleWork({ deliveryId: String(n) }))
  }
  while (!lane.isIdle) await nextTurn()
  expect(heldBack).toBeGreaterThan(1)
  expect(seen).toEqual({ sent: BACKLOG, madeRoom: heldBack })
  expect(parked).toEqual([])
})

test('a lane whose destination does not answer resumes its partition after a while, and parks the overflow', async () => {
  const { lane, parked } = openLane(() => new Promise(() => undefined))
  const startedAt = performance.now()
  let n = 0
  while (!lane.pausesPull) lane.admit(sampleWork({ deliveryId: String(n++) }))
  while (lane.pausesPull) await nextTurn()
  expect(performance.now() - startedAt).toBeLessThan(SECOND_MS)
  expect(lane.inMemory).toBe(n)
  for (; n < 2_000; n++) lane.admit(sampleWork({ deliveryId: String(n) }))
  expect(lane.pausesPull).toBe(false)
  await sleep(SECOND_MS)
  lane.admit(sampleWork({ deliveryId: 'late' }))
  expect(parked.map(({ deliveryId }) => deliveryId)).toEqual(['late'])
})

test('messages that arrive after the pull was paused have a limit too', () => {
  const { lane, parked } = openLane(() => new Promise(() => undefined))
  for (let n = 0; n < BACKLOG; n++) lane.admit(sampleWork({ deliveryId: String(n) }))
  expect(lane.inMemory).toBeLessThan(BACKLOG)
  expect(lane.inMemory + parked.length).toBe(BACKLOG)
})

test('a lane that is disabled while it is full resumes its partition at once', () => {
  const { lane, parked } = openLane(() => new Promise(() => undefined))
  let n = 0
  while (!lane.pausesPull) lane.admit(sampleWork({ deliveryId: String(n++) }))
  lane.configure({ ...SAMPLE_DESTINATION, isEnabled: false })
  expect(lane.pausesPull).toBe(false)
  expect(lane.inMemory + parked.length).toBe(n)
})

/** PostgreSQL with more rows than a lane can take. */
function openBacklog() {
  const seen = { claims: 0, claimed: 0 }
  const claimParked: LaneDeps['claimParked'] = async (_, limit) => {
    seen.claims++
    const works = Array.from({ length: limit }, () =>
      sampleWork({ deliveryId: String(seen.claimed++), isWaiting: true }),
    )
    return { works, isAll: false }
  }
  return { seen, claimParked }
}

test('a paced lane takes its rows back many at a time', async () => {
  const SECONDS = 5
  const RATE = 20
  let nowMs = 1_700_000_000_000
  const backlog = openBacklog()
  const { lane, seen } = openLane(
    async () => ({ hasSucceeded: true, busy: null }),
    { clock: { now: () => nowMs }, claimParked: backlog.claimParked },
    { intervalMs: 1_000 / RATE, burst: 1, catchUpMs: 0 },
  )
  lane.noteParked(0)
  for (let step = 0; step < SECONDS * RATE; step++) {
    await nextTurn()
    nowMs += 1_000 / RATE
    lane.tick()
  }
  expect(seen.sent).toBeGreaterThanOrEqual(SECONDS * RATE - 1)
  expect(backlog.seen.claims).toBeLessThan(seen.sent / 5)
})

test('a lane whose destination does not answer claims no more than its next turn', async () => {
  const { claimParked, seen } = openBacklog()
  const { lane } = openLane(() => new Promise(() => undefined), { claimParked })
  lane.noteParked(0)
  for (let turns = 0; turns < 100; turns++) await nextTurn()
  expect(seen.claimed).toBeLessThanOrEqual(2 * DESTINATION_CONCURRENCY_DEFAULT)
})

test('a lane that hangs keeps a third of the worker, parks the rest, and takes none of it back', async () => {
  let claims = 0
  const { lane, parked, seen } = openLane(() => new Promise(() => undefined), {
    claimParked: async () => {
      claims++
      return { works: [], isAll: false }
    },
  })
  const bytes = WORK_BYTES_MAX / 32
  for (let n = 0; n < 32; n++) lane.admit(sampleWork({ deliveryId: String(n), bytes }))
  lane.tick()
  for (let turns = 0; turns < 100; turns++) await nextTurn()
  expect(seen.sent).toBe(11)
  expect(parked).toHaveLength(21)
  expect(claims).toBe(0)
})

test('a lane that keeps up parks nothing, however much it holds', async () => {
  const { lane, parked, seen } = openLane(async () => {
    await nextTurn()
    return { hasSucceeded: true, busy: null }
  })
  for (let n = 0; n < 64; n++) lane.admit(sampleWork({ deliveryId: `first ${n}` }))
  while (!lane.isIdle) await nextTurn()
  const bytes = WORK_BYTES_MAX / 30
  for (let n = 0; n < 25; n++) lane.admit(sampleWork({ deliveryId: String(n), bytes }))
  while (!lane.isIdle) await nextTurn()
  expect(parked).toEqual([])
  expect(seen.sent).toBe(64 + 25)
})

test('an attempt by hand goes although its lane holds all that it may', async () => {
  const { lane, parked } = openLane(() => new Promise(() => undefined))
  const bytes = WORK_BYTES_MAX / 4
  for (let n = 0; n < 3; n++) lane.admit(sampleWork({ deliveryId: String(n), bytes }))
  expect(parked).toHaveLength(1)
  lane.admit(sampleWork({ deliveryId: 'by hand', attemptTrigger: 'manual', isWaiting: true }))
  expect(parked).toHaveLength(1)
  expect(lane.inMemory).toBe(3)
})

test('work that no socket is left for waits, and goes when one is free', async () => {
  const ends: (() => void)[] = []
  const { lane, seen, parked } = openLane(
    async () => {
      await new Promise<void>((resolve) => ends.push(resolve))
      return { hasSucceeded: true, busy: null }
    },
    { allowances: new Allowances(9) },
  )
  for (let n = 0; n < 10; n++) lane.admit(sampleWork({ deliveryId: String(n) }))
  expect(seen.sent).toBe(3)
  for (let ended = 0; ended < 10; ended++) {
    ends[ended]?.()
    for (let turns = 0; turns < 5; turns++) await nextTurn()
    expect(seen.sent - ended - 1).toBeLessThanOrEqual(3)
  }
  expect(seen.sent).toBe(10)
  expect(parked).toEqual([])
})
