import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { expect, test } from 'vitest'

import { startApiServer, type ApiServer } from '../api-server.fixture.ts'
import { Elector, LostLease } from './elector.ts'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/ns/leases'
const log = pino({ level: 'silent' })
const TIMES = { durationMs: 2_000, deadlineMs: 1_200, retryMs: 200 }
const never = new AbortController().signal

const elector = (server: ApiServer, identity: string): Elector =>
  new Elector({ client: server.client, namespace: 'ns', name: 'test', identity, log, times: TIMES })

const holder = (server: ApiServer): string => server.get(LEASES, 'test')?.['spec'].holderIdentity

test('the first takes the lease, the second waits until it is given back', async () => {
  await using server = await startApiServer()
  const [a, b] = [elector(server, 'a'), elector(server, 'b')]
  await a.acquire(never)
  expect(a.isLeader).toBe(true)
  const waiting = b.acquire(never)
  await sleep(500)
  expect(b.isLeader).toBe(false)
  const released = performance.now()
  await a.release()
  await waiting
  expect(performance.now() - released).toBeLessThan(1_500)
  expect(holder(server)).toBe('b')
  expect(a.fence).toThrow(LostLease)
})

test('a holder that is silent is replaced when its lease has ended, and not before', async () => {
  await using server = await startApiServer()
  const [a, b] = [elector(server, 'a'), elector(server, 'b')]
  await a.acquire(never)
  const began = performance.now()
  await b.acquire(never)
  expect(performance.now() - began).toBeGreaterThan(1_900)
  // By then the first one has stopped by itself.
  expect(a.fence).toThrow(LostLease)
  await expect(a.hold(never)).rejects.toThrow(LostLease)
})

test('a holder that renews keeps its lease', async () => {
  await using server = await startApiServer()
  const [a, b] = [elector(server, 'a'), elector(server, 'b')]
  await a.acquire(never)
  const stop = new AbortController()
  const holding = a.hold(stop.signal)
  const waiting = b.acquire(stop.signal).catch(() => 'stopped')
  await sleep(3_000)
  expect([a.isLeader, b.isLeader]).toEqual([true, false])
  stop.abort()
  await holding
  expect(await waiting).toBe('stopped')
})

test('a holder renews with a single request, and looks again when somebody has written', async () => {
  await using server = await startApiServer()
  const a = elector(server, 'a')
  await a.acquire(never)
  const stop = new AbortController()
  const before = server.asked.length
  const holding = a.hold(stop.signal)
  await sleep(1_000)
  const asked = server.asked.slice(before)
  expect(asked.length).toBeGreaterThan(1)
  expect(new Set(asked)).toEqual(new Set([`PUT ${LEASES}/test`]))
  const lease = server.get(LEASES, 'test')
  if (lease !== undefined) server.put(LEASES, lease)
  await sleep(600)
  expect(server.asked).toContain(`GET ${LEASES}/test`)
  expect(a.isLeader).toBe(true)
  stop.abort()
  await holding
})

test('a process of the same name takes its own lease back at once, and the one before notices', async () => {
  await using server = await startApiServer()
  const [before, after] = [elector(server, 'a'), elector(server, 'a')]
  await before.acquire(never)
  const began = performance.now()
  await after.acquire(never)
  expect(performance.now() - began).toBeLessThan(1_000)
  await expect(before.hold(never)).rejects.toThrow(LostLease)
  expect(after.isLeader).toBe(true)
})

test('a holder that cannot reach the server stops before its lease ends', async () => {
  await using server = await startApiServer()
  const a = elector(server, 'a')
  await a.acquire(never)
  server.fault = () => ({ kind: 'reset' })
  const began = performance.now()
  await expect(a.hold(never)).rejects.toThrow(LostLease)
  expect(performance.now() - began).toBeLessThan(TIMES.durationMs)
})

test('nobody may write before the lease is taken', async () => {
  await using server = await startApiServer()
  expect(elector(server, 'a').fence).toThrow(LostLease)
})

test('a single process leads, if several begin at once', async () => {
  await using server = await startApiServer()
  const all = ['a', 'b', 'c', 'd'].map((name) => elector(server, name))
  const stop = new AbortController()
  const waiting = all.map(async (one) => await one.acquire(stop.signal).catch(() => {}))
  await sleep(800)
  expect(all.filter(({ isLeader }) => isLeader)).toHaveLength(1)
  stop.abort()
  await Promise.all(waiting)
})
