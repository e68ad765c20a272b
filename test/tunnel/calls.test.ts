import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker as Thread } from 'node:worker_threads'

import { expect, inject, test, vi } from 'vitest'

import type { Perform } from '../../connector-agent/tunnel/streams.ts'
import type { RequestHead } from '../../core/tunnel/protocol.ts'
import { GatewayCalls } from '../../dataplane/worker/send/gateway-calls.ts'
import { watchGateways } from '../../dataplane/worker/send/gateway-watch.ts'
import {
  addSession,
  openGateway as openAt,
  openWorker as openWorkerAt,
  PHASES,
} from './calls-world.ts'

/** Longer than any silence that a worker puts up with. */
const PAUSE_MS = 4_000
const MIB = 1024 * 1024

const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const echo: Perform = async (_head, body) => {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(Buffer.from(part))
  return {
    kind: 'response',
    head: { status: 200, headers: [], phases: PHASES },
    body: Buffer.from(hash(Buffer.concat(parts))),
  }
}

const openGateway = async (name: string) => await openAt(inject('natsUrl'), name)
const openWorker = async () => await openWorkerAt(inject('natsUrl'))

function request(body: Buffer, timeoutMs = 5_000): RequestHead {
  return {
    attemptId: 'a',
    method: 'POST',
    url: 'http://a.internal/',
    headers: [['content-type', 'application/json']],
    bodyBytes: body.length,
    timeoutMs,
  }
}

test('any worker reaches a connector through the gateway that has it, whatever the size of the body', async () => {
  await using one = await openGateway('one')
  await using two = await openGateway('two')
  await using worker = await openWorker()
  const connectorId = crypto.randomUUID()
  addSession(two.sessions, connectorId, echo)
  two.calls.follow(connectorId)
  one.calls.follow(connectorId)
  await two.nats.flush()
  for (const size of [0, 2, 256 * 1024, 256 * 1024 + 1, 5 * MIB]) {
    const body = Buffer.alloc(size, 'x')
    const outcome = await worker.calls.call({ connectorId, request: request(body) }, body)
    expect(outcome).toMatchObject({
      kind: 'response',
      reply: { replicaId: `replica of ${connectorId}`, head: { status: 200 } },
    })
    expect(outcome.kind === 'response' && outcome.body.toString()).toBe(hash(body))
  }
  expect(worker.calls.inFlight).toBe(0)
})

test('a call to a connector without a session says so at once', async () => {
  await using worker = await openWorker()
  const body = Buffer.from('{}')
  const startedAt = performance.now()
  const outcome = await worker.calls.call(
    { connectorId: crypto.randomUUID(), request: request(body) },
    body,
  )
  expect(outcome).toEqual({ kind: 'offline' })
  expect(performance.now() - startedAt).toBeLessThan(500)
})

test('a connector that loses its last session is offline for the next call', async () => {
  await using gateway = await openGateway('one')
  await using worker = await openWorker()
  const connectorId = crypto.randomUUID()
  const { session, streams } = addSession(gateway.sessions, connectorId, echo)
  gateway.calls.follow(connectorId)
  await gateway.nats.flush()
  const body = Buffer.from('{}')
  const call = () => worker.calls.call({ connectorId, request: request(body) }, body)
  expect((await call()).kind).toBe('response')
  streams.end()
  gateway.sessions.remove(session)
  // Before NATS knows, the gateway itself says that nothing was sent.
  expect(await call()).toEqual({ kind: 'unsent', isFull: false })
  gateway.calls.follow(connectorId)
  await gateway.nats.flush()
  expect(await call()).toEqual({ kind: 'offline' })
})

test('calls that are on the wire when the last session leaves are answered: nothing was sent', async () => {
  await using gateway = await openGateway('one')
  // On one connection the server surely has the calls before it hears that the gateway leaves.
  using calls = new GatewayCalls(gateway.nats)
  const connectorId = crypto.randomUUID()
  const body = Buffer.from('{}')
  const call = () => calls.call({ connectorId, request: request(body) }, body)
  for (let round = 0; round < 20; round++) {
    const { session, streams } = addSession(gateway.sessions, connectorId, echo)
    gateway.calls.follow(connectorId)
    await gateway.nats.flush()
    const outcomes = [call(), call(), call()]
    streams.end()
    gateway.sessions.remove(session)
    gateway.calls.follow(connectorId)
    expect(await Promise.all(outcomes)).toEqual(
      Array.from({ length: 3 }, () => ({ kind: 'unsent', isFull: false })),
    )
    expect(await call()).toEqual({ kind: 'offline' })
  }
})

test('a gateway that ends answers the calls that are on the wire', async () => {
  await using gateway = await openGateway('one')
  using calls = new GatewayCalls(gateway.nats)
  const connectorId = crypto.randomUUID()
  const { streams } = addSession(gateway.sessions, connectorId, echo)
  gateway.calls.follow(connectorId)
  await gateway.nats.flush()
  const body = Buffer.from('{}')
  const outcome = calls.call({ connectorId, request: request(body) }, body)
  streams.stopAccepting()
  await gateway.calls[Symbol.asyncDispose]()
  expect(await outcome).toEqual({ kind: 'unsent', isFull: false })
})

test('a full connector is told from an offline one', async () => {
  await using gateway = await openGateway('one')
  await using worker = await openWorker()
  const connectorId = crypto.randomUUID()
  addSession(gateway.sessions, connectorId, async () => await new Promise(() => {}))
  gateway.calls.follow(connectorId)
  await gateway.nats.flush()
  const body = Buffer.from('{}')
  const call = () => worker.calls.call({ connectorId, request: request(body, 500) }, body)
  const held = Array.from({ length: 64 }, call)
  await sleep(100)
  expect(await call()).toEqual({ kind: 'unsent', isFull: true })
  const outcomes = await Promise.all(held)
  expect(outcomes.every(({ kind }) => kind === 'silent')).toBe(true)
})

test('a gateway that dies loses what it had accepted, as soon as that is known', async () => {
  await using worker = await openWorker()
  const gateway = await openGateway('mortal')
  const connectorId = crypto.randomUUID()
  addSession(gateway.sessions, connectorId, async () => await new Promise(() => {}))
  gateway.calls.follow(connectorId)
  await gateway.nats.flush()
  const body = Buffer.from('{}')
  const outcome = worker.calls.call({ connectorId, request: request(body) }, body)
  await vi.waitFor(() => expect(worker.calls.accepting()).toEqual(new Set(['mortal'])))
  await gateway.nats.close()
  worker.calls.forgetGateway('another')
  expect(worker.calls.inFlight).toBe(1)
  worker.calls.forgetGateway('mortal')
  expect(await outcome).toEqual({ kind: 'lost', replicaId: null })
})

test('a worker that stood still hears what gateways said meanwhile before it counts anything as lost', async () => {
  const connectorId = crypto.randomUUID()
  const gateway = {
    natsUrl: inject('natsUrl'),
    name: crypto.randomUUID(),
    connectorId,
    answerMs: PAUSE_MS + 1_500,
  }
  const thread = new Thread(new URL('gateway-thread.ts', import.meta.url), {
    workerData: gateway,
  })
  try {
    await once(thread, 'message')
    await using worker = await openWorker()
    using _watch = watchGateways(worker.nats, worker.calls)
    // Before that the worker counts nobody as silent.
    await sleep(3_500)
    const body = Buffer.from('{}')
    const call = () => worker.calls.call({ connectorId, request: request(body, 10_000) }, body)
    const accepted = call()
    await vi.waitFor(() => expect(worker.calls.accepting()).toEqual(new Set([gateway.name])))
    await sleep(1_000)
    const underWay = call()
    await worker.nats.flush()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
    const outcomes = await Promise.all([accepted, underWay])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['response', 'response'])
  } finally {
    await thread.terminate()
  }
})

test('a message that is no call is dropped, and hurts no other', async () => {
  await using gateway = await openGateway('one')
  await using worker = await openWorker()
  const connectorId = crypto.randomUUID()
  addSession(gateway.sessions, connectorId, echo)
  gateway.calls.follow(connectorId)
  await gateway.nats.flush()
  for (const junk of ['', 'junk', '\xff\xff\xff\xff{}', '\0\0\0\x02{}']) {
    gateway.nats.publish(`tunnel.call.${connectorId}`, Buffer.from(junk, 'latin1'))
  }
  const body = Buffer.from('{}')
  expect((await worker.calls.call({ connectorId, request: request(body) }, body)).kind).toBe(
    'response',
  )
})
