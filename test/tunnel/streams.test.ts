import { createHash } from 'node:crypto'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import fc from 'fast-check'
import { expect, test, vi } from 'vitest'

import { AgentStreams, type Perform } from '../../connector-agent/tunnel/streams.ts'
import { PIECE_BYTES } from '../../core/tunnel/call.ts'
import { decodeFrame, encodeFrame, type Frame } from '../../core/tunnel/frames.ts'
import {
  type RequestHead,
  SESSION_STREAMS_MAX,
  SESSION_WINDOW_BYTES,
} from '../../core/tunnel/protocol.ts'
import { BodyBudget } from '../../dataplane/gateway/streams/body-budget.ts'
import { GatewayStreams } from '../../dataplane/gateway/streams/streams.ts'

const PHASES = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 1 }
const MIB = 1024 * 1024
const NEVER = new AbortController().signal

interface Link {
  gateway: GatewayStreams
  agent: AgentStreams
  budget: BodyBudget
  /** Most bytes that were under way to the agent at once, as the gateway counts them. */
  most: () => number
  /** Both ends see the socket closed; what is under way is gone. */
  cut(): void
}

/** Gateway and agent over a pipe that keeps the order and takes a moment, with real frames. */
function linked(perform: Perform, budgetBytes = 64 * MIB, shareBytes = budgetBytes): Link {
  const budget = new BodyBudget(budgetBytes, shareBytes)
  let most = 0
  const state = { isCut: false }
  const pipe = (receive: (frame: Frame) => void) => {
    const queue: Buffer[] = []
    let isRunning = false
    const run = async (): Promise<void> => {
      isRunning = true
      await turn()
      while (!state.isCut) {
        const bytes = queue.shift()
        if (bytes === undefined) break
        receive(decodeFrame(bytes))
        if (queue.length % 3 === 0) await turn()
      }
      isRunning = false
    }
    return (frame: Frame): void => {
      if (state.isCut) return
      queue.push(Buffer.from(encodeFrame(frame)))
      most = Math.max(most, budget.used)
      if (!isRunning) void run()
    }
  }
  const toGateway = pipe((frame) => gateway.receive(frame))
  const toAgent = pipe((frame) => agent.receive(frame))
  const gateway: GatewayStreams = new GatewayStreams({ write: toAgent, budget, owner: 'org' })
  const agent: AgentStreams = new AgentStreams({
    write: toGateway,
    perform,
    streamsMax: SESSION_STREAMS_MAX,
  })
  return {
    gateway,
    agent,
    budget,
    most: () => most,
    cut() {
      state.isCut = true
      gateway.end()
      agent.end()
    },
  }
}

function head(id: string, body: Uint8Array): RequestHead {
  return {
    attemptId: id,
    method: 'POST',
    url: 'http://service.internal/hook',
    headers: [],
    bodyBytes: body.length,
    timeoutMs: 15_000,
  }
}

async function* inChunks(body: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < body.length; at += size) {
    if (at % 3 === 0) await turn()
    yield body.subarray(at, at + size)
  }
}

function digest(parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** Answers with the digest of the body it read. */
const echo: Perform = async (_head, body) => {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(Buffer.from(part))
  return {
    kind: 'response',
    head: { status: 200, headers: [], phases: PHASES },
    body: Buffer.from(digest(parts)),
  }
}

test('every body arrives whole and in order, whatever the sizes, chunks and pace', async () => {
  const request = fc.record({
    bytes: fc.oneof(fc.nat(300), fc.nat(300_000)),
    chunk: fc.integer({ min: 1, max: 90_000 }),
    pauses: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), async (requests) => {
      const link = linked(async (given, body, signal) => {
        if (requests[Number(given.attemptId)]?.pauses !== true)
          return await echo(given, body, signal)
        const slow = (async function* () {
          for await (const part of body) {
            await turn()
            yield part
          }
        })()
        return await echo(given, slow, signal)
      })
      const answers = await Promise.all(
        requests.map(async ({ bytes, chunk }, at) => {
          const body = Buffer.alloc(bytes, at + 1)
          const size = Math.max(chunk, Math.ceil(bytes / 50))
          const outcome = await link.gateway.send(
            head(String(at), body),
            inChunks(body, size),
            NEVER,
          )
          expect(outcome).toMatchObject({ kind: 'response', head: { status: 200 } })
          return (
            outcome.kind === 'response' && Buffer.from(outcome.body).toString() === digest([body])
          )
        }),
      )
      expect(answers).toEqual(requests.map(() => true))
      expect(link.gateway.inFlight + link.agent.inFlight + link.budget.used).toBe(0)
      // The session's credit is whole again: as many bytes go as at first.
      const large = Buffer.alloc(2 * SESSION_WINDOW_BYTES, 7)
      expect(await link.gateway.send(head('0', large), inChunks(large, MIB), NEVER)).toMatchObject({
        kind: 'response',
      })
    }),
    { numRuns: 40 },
  )
})

test('streams that stand still hold their window and no more, and stall nobody else', async () => {
  const held: (() => void)[] = []
  const link = linked(async (given, body, signal) => {
    if (given.attemptId.startsWith('stalled')) {
      await new Promise<void>((resolve) => held.push(resolve))
    }
    return await echo(given, body, signal)
  })
  const body = Buffer.alloc(MIB, 1)
  const stalled = Array.from({ length: SESSION_STREAMS_MAX - 1 }, (_, at) =>
    link.gateway.send(head(`stalled ${at}`, body), inChunks(body, PIECE_BYTES), NEVER),
  )
  await vi.waitFor(() => expect(link.agent.inFlight).toBe(SESSION_STREAMS_MAX - 1), 5_000)
  // The gateway holds a piece of each, most of which no agent has.
  expect(link.budget.used).toBe((SESSION_STREAMS_MAX - 1) * PIECE_BYTES)
  const quick = await link.gateway.send(head('quick', body), inChunks(body, 100_000), NEVER)
  expect(quick.kind).toBe('response')

  for (const release of held) release()
  expect((await Promise.all(stalled)).map(({ kind }) => kind)).toEqual(
    stalled.map(() => 'response'),
  )
  expect(link.budget.used).toBe(0)
})

test('the budget of the gateway bounds what all streams of an owner have under way', async () => {
  const share = 3 * PIECE_BYTES
  const link = linked(echo, 16 * MIB, share)
  const body = Buffer.alloc(2 * MIB, 1)
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      link.gateway.send(head(String(at), body), inChunks(body, PIECE_BYTES), NEVER),
    ),
  )
  expect(outcomes.every(({ kind }) => kind === 'response')).toBe(true)
  expect(link.most()).toBeLessThanOrEqual(share)
  expect(link.most()).toBeGreaterThan(share / 2)
})

test('a cut settles every request: unsent before the end of its body, lost after', async () => {
  const link = linked(async (_given, body) => {
    for await (const part of body) void part
    return await new Promise(() => {})
  })
  const small = Buffer.from('{}')
  const sent = link.gateway.send(head('sent', small), inChunks(small, 10), NEVER)
  const endless = (async function* () {
    yield small
    await new Promise(() => {})
  })()
  const unsent = link.gateway.send({ ...head('unsent', small), bodyBytes: 9 }, endless, NEVER)
  await sleep(30)
  link.cut()
  expect(await sent).toEqual({ kind: 'lost' })
  expect(await unsent).toEqual({ kind: 'unsent' })
  expect(link.budget.used).toBe(0)
  const after = await link.gateway.send(head('after', small), inChunks(small, 10), NEVER)
  expect(after).toEqual({ kind: 'unsent' })
})

test('a cancelled request ends at the agent and frees its room', async () => {
  const ended: string[] = []
  const link = linked(async (given, _body, signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    ended.push(given.attemptId)
    return {
      kind: 'failure',
      failure: { code: 'timeout', message: '', isUnsent: false, phases: PHASES },
    }
  })
  const controller = new AbortController()
  const body = Buffer.alloc(MIB)
  const cancelled = link.gateway.send(head('one', body), inChunks(body, 1_000), controller.signal)
  await sleep(20)
  controller.abort()
  expect(await cancelled).toEqual({ kind: 'cancelled' })
  await sleep(20)
  expect(ended).toEqual(['one'])
  expect(link.agent.inFlight + link.gateway.inFlight + link.budget.used).toBe(0)
})

test('an agent that goes away refuses what comes, and ends what it has', async () => {
  const release = Promise.withResolvers<undefined>()
  const link = linked(async (given, body, signal) => {
    await release.promise
    return await echo(given, body, signal)
  })
  const body = Buffer.from('{}')
  const first = link.gateway.send(head('first', body), inChunks(body, 10), NEVER)
  await sleep(10)
  link.agent.goAway('restart')
  // The gateway has not heard of it yet: this one is refused, and may go to another session.
  const second = link.gateway.send(head('second', body), inChunks(body, 10), NEVER)
  expect(await second).toEqual({ kind: 'unsent' })
  expect(link.gateway.hasRoom).toBe(false)
  release.resolve(undefined)
  expect((await first).kind).toBe('response')
  await link.agent.drained()
})

test('a request whose headers are larger than a frame fails alone', async () => {
  const link = linked(echo)
  const body = Buffer.from('{}')
  const headers: [string, string][] = [['x-large', 'x'.repeat(60_000)]]
  const large = { ...head('large', body), headers: [...headers, ...headers, ...headers] }
  expect(await link.gateway.send(large, inChunks(body, 10), NEVER)).toMatchObject({
    kind: 'failure',
    failure: { code: 'internal' },
  })
  const after = await link.gateway.send(head('after', body), inChunks(body, 10), NEVER)
  expect(after.kind).toBe('response')
  expect(link.gateway.inFlight + link.budget.used).toBe(0)
})

test('a session takes as many requests as both sides allow, and no more', async () => {
  const link = linked(async () => await new Promise(() => {}))
  const body = Buffer.alloc(0)
  for (let at = 0; at < SESSION_STREAMS_MAX; at++) {
    expect(link.gateway.hasRoom).toBe(true)
    void link.gateway.send(head(String(at), body), inChunks(body, 1), NEVER)
  }
  expect(link.gateway.hasRoom).toBe(false)
  expect(await link.gateway.send(head('x', body), inChunks(body, 1), NEVER)).toEqual({
    kind: 'unsent',
  })
})

const DATA = { kind: 'data', stream: 1, bytes: Buffer.alloc(16_384) } as const
const REQUEST = { kind: 'request', stream: 1, head: head('a', DATA.bytes) } as const

test.for<[title: string, frames: readonly Frame[], message: string]>([
  ['data of a stream that was never opened', [DATA], 'never opened'],
  ['an end of a stream that was never opened', [{ kind: 'end', stream: 9 }], 'never opened'],
  ['a stream opened twice', [REQUEST, REQUEST], 'opened twice'],
  [
    'data past the window',
    [REQUEST, DATA, DATA, DATA, DATA, DATA],
    'More data than the stream allows',
  ],
  ['data after the end', [REQUEST, { kind: 'end', stream: 1 }, DATA], 'Data after the end'],
  [
    'an answer from a gateway',
    [{ kind: 'credit', stream: 0, bytes: 1 }],
    'A gateway sends no credit',
  ],
])('an agent refuses %s', ([, frames, message]) => {
  const perform: Perform = async () => await new Promise(() => {})
  const agent = new AgentStreams({ write: () => {}, perform, streamsMax: 64 })
  expect(() => {
    for (const frame of frames) agent.receive(frame)
  }).toThrow(message)
})

test.for<[title: string, frames: readonly Frame[], message: string]>([
  [
    'an answer to a stream that was never opened',
    [
      {
        kind: 'response',
        stream: 9,
        head: { status: 200, headers: [], phases: PHASES },
        body: DATA.bytes,
      },
    ],
    'never opened',
  ],
  [
    'credit for bytes that were never sent',
    [{ kind: 'credit', stream: 0, bytes: 1 }],
    'Credit of the session overflows',
  ],
  [
    'credit of a stream for bytes that were never sent',
    [{ kind: 'credit', stream: 1, bytes: 1 }],
    'Credit of a stream overflows',
  ],
  ['a request from an agent', [REQUEST], 'An agent sends no request'],
])('a gateway refuses %s', ([, frames, message]) => {
  const budget = new BodyBudget(MIB, MIB)
  const gateway = new GatewayStreams({ write: () => {}, budget, owner: 'org' })
  const never = (async function* () {
    await new Promise(() => {})
    yield DATA.bytes
  })()
  void gateway.send(REQUEST.head, never, NEVER)
  expect(() => {
    for (const frame of frames) gateway.receive(frame)
  }).toThrow(message)
})
