import { pino } from 'pino'
import { expect, test, vi } from 'vitest'

import { startApiServer } from '../api-server.fixture.ts'
import type { Kind } from '../kube/object.ts'
import { Recorder } from './recorder.ts'

const THING: Kind = { group: 'test.dev', version: 'v1', kind: 'Thing', plural: 'things' }
const EVENTS = '/apis/events.k8s.io/v1/namespaces/ns/events'
const log = pino({ level: 'silent' })
const object = { metadata: { name: 'x', namespace: 'ns', uid: 'uid' } }
const happening = { type: 'Warning', reason: 'Bad', action: 'Testing', note: 'It is bad' } as const

test('the same event is written once and counted, at each doubling', async () => {
  await using server = await startApiServer()
  const recorder = new Recorder({ client: server.client, controller: 'c', instance: 'i', log })
  for (let count = 0; count < 16; count++) recorder.tell(THING, object, happening)
  const posts = () => server.asked.filter((line) => line === `POST ${EVENTS}`)
  const patches = () => server.asked.filter((line) => line.startsWith(`PATCH ${EVENTS}/`))
  await vi.waitFor(() => expect([posts().length, patches().length]).toEqual([1, 4]))
})

test('an object has 25 events at once, and one more each five minutes', async () => {
  await using server = await startApiServer()
  let nowMs = 1_000_000
  const now = () => nowMs
  const recorder = new Recorder({ client: server.client, controller: 'c', instance: 'i', log, now })
  const tell = (note: string): void => recorder.tell(THING, object, { ...happening, note })
  for (let count = 0; count < 40; count++) tell(`first ${count}`)
  await vi.waitFor(() => expect(server.asked).toHaveLength(25))
  nowMs += 300_000
  for (let count = 0; count < 5; count++) tell(`second ${count}`)
  await vi.waitFor(() => expect(server.asked).toHaveLength(26))
})

test('an event that cannot be written is no failure of the work', async () => {
  await using server = await startApiServer()
  server.fault = () => ({ kind: 'reset' })
  const recorder = new Recorder({ client: server.client, controller: 'c', instance: 'i', log })
  expect(() => recorder.tell(THING, object, happening)).not.toThrow()
  await vi.waitFor(() => expect(server.asked).toHaveLength(1))
})
