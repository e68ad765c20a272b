import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { PIECE_BYTES } from '../../core/tunnel/call.ts'
import { encodeFrame, decodeFrame, ProtocolError, type Frame } from '../../core/tunnel/frames.ts'
import {
  DATA_BYTES_MAX,
  SESSION_WINDOW_BYTES,
  STREAM_WINDOW_BYTES,
  type RequestHead,
} from '../../core/tunnel/protocol.ts'
import { BodyBudget } from '../../dataplane/gateway/streams/body-budget.ts'
import { GatewayStreams, type Outcome } from '../../dataplane/gateway/streams/streams.ts'

const PHASES = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 1 }
const MIB = 1024 * 1024
const SHARE = 2 * MIB
const NEVER = new AbortController().signal

interface Credited {
  id: number
  received: number
  credited: number
  isEnded: boolean
}

/** An agent's view of its session, after docs/tunnel.md and not after our code: what it may still be sent. */
class Model {
  readonly open = new Map<number, Credited>()
  sessionReceived = 0
  sessionCredited = 0
  lastId = 0
  readonly faults: string[] = []

  /** Notes where a gateway does what the protocol does not allow. */
  hear(frame: Frame): void {
    if (frame.kind === 'request') {
      this.#demand(frame.stream > this.lastId, 'streams are numbered upwards')
      this.lastId = frame.stream
      this.open.set(frame.stream, { id: frame.stream, received: 0, credited: 0, isEnded: false })
      return
    }
    const { kind } = frame
    const stream = 'stream' in frame ? this.open.get(frame.stream) : undefined
    if (stream === undefined) return this.#demand(false, `a stream that is over gets no ${kind}`)
    this.#demand(!stream.isEnded || kind === 'cancel', 'nothing but a cancel comes after the end')
    if (kind === 'data') {
      stream.received += frame.bytes.length
      this.sessionReceived += frame.bytes.length
      const unread = this.sessionReceived - this.sessionCredited
      this.#demand(frame.bytes.length <= DATA_BYTES_MAX, 'data fits its frame')
      this.#demand(stream.received - stream.credited <= STREAM_WINDOW_BYTES, 'data fits the stream')
      this.#demand(unread <= SESSION_WINDOW_BYTES, 'data fits the session')
    } else if (kind === 'end') {
      stream.isEnded = true
    } else {
      this.#demand(kind === 'cancel', `a gateway sends no ${kind}`)
      this.open.delete(stream.id)
    }
  }

  /** Credits a part of what one of the streams has, and all of the session's. */
  credit(gateway: GatewayStreams, { at, part }: { at: number; part: number }): void {
    const [id, stream] = pick([...this.open], at) ?? []
    if (id === undefined || stream === undefined) return
    const bytes = Math.floor((stream.received - stream.credited) * part)
    if (bytes === 0) return
    stream.credited += bytes
    gateway.receive({ kind: 'credit', stream: id, bytes })
    this.#creditSession(gateway)
  }

  answer(gateway: GatewayStreams, { at }: { at: number }): void {
    const [id] = pick([...this.open], at) ?? []
    if (id === undefined) return
    this.open.delete(id)
    gateway.receive(answer(id))
    this.#creditSession(gateway)
  }

  #demand(isSo: boolean, what: string): void {
    if (!isSo) this.faults.push(what)
  }

  #creditSession(gateway: GatewayStreams): void {
    const bytes = this.sessionReceived - this.sessionCredited
    this.sessionCredited += bytes
    if (bytes > 0) gateway.receive({ kind: 'credit', stream: 0, bytes })
  }
}

function pick<T>(from: readonly T[], at: number): T | undefined {
  return from[at % from.length]
}

function head(bodyBytes: number): RequestHead {
  const url = 'http://service.internal/hook'
  return { attemptId: 'a', method: 'POST', url, headers: [], bodyBytes, timeoutMs: 15_000 }
}

async function* inPieces(bytes: number): AsyncGenerator<Uint8Array, void> {
  for (let left = bytes; left > 0; left -= PIECE_BYTES) {
    yield Buffer.alloc(Math.min(left, PIECE_BYTES), 1)
  }
}

function answer(stream: number): Frame {
  return {
    kind: 'response',
    stream,
    head: { status: 200, headers: [], phases: PHASES },
    body: Buffer.alloc(0),
  }
}

/** A step of an agent that keeps to the protocol. Numbers choose among what is there. */
const step = fc.oneof(
  fc.record({ act: fc.constant('send' as const), bytes: fc.nat(600_000) }),
  fc.record({ act: fc.constant('give up' as const), at: fc.nat() }),
  fc.record({
    act: fc.constant('credit' as const),
    at: fc.nat(),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  fc.record({ act: fc.constant('answer' as const), at: fc.nat() }),
  fc.record({ act: fc.constant('wait' as const) }),
)

test('the gateway keeps to windows, budget and order, whatever an honest agent does and when', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const model = new Model()
      const budget = new BodyBudget(64 * MIB, SHARE)
      const write = (frame: Frame): void => model.hear(decodeFrame(encodeFrame(frame)))
      const gateway = new GatewayStreams({ write, budget, owner: 'org' })
      const outcomes: Promise<Outcome>[] = []
      const givenUp: AbortController[] = []
      for (const one of steps) {
        if (one.act === 'send') {
          const controller = new AbortController()
          givenUp.push(controller)
          outcomes.push(gateway.send(head(one.bytes), inPieces(one.bytes), controller.signal))
        }
        if (one.act === 'give up') pick(givenUp, one.at)?.abort()
        if (one.act === 'credit') model.credit(gateway, one)
        if (one.act === 'answer') model.answer(gateway, one)
        if (one.act === 'wait') await turn()
        expect(budget.used).toBeLessThanOrEqual(SHARE)
      }
      gateway.end()
      expect(model.faults).toEqual([])
      // Each request has its one outcome, and nothing is held for any of them.
      expect(await Promise.all(outcomes)).toHaveLength(outcomes.length)
      expect(gateway.inFlight + budget.used).toBe(0)
    }),
    { numRuns: 150 },
  )
})

const anyFrame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    kind: fc.constant('credit' as const),
    stream: fc.nat(6),
    bytes: fc.integer({ min: 1, max: 200_000 }),
  }),
  fc.nat(6).map((at) => answer(at + 1)),
  fc.record({
    kind: fc.constant('failure' as const),
    stream: fc.integer({ min: 1, max: 6 }),
    failure: fc.record({
      code: fc.constantFrom('refused' as const, 'timeout' as const),
      message: fc.constant(''),
      isUnsent: fc.boolean(),
      phases: fc.constant(PHASES),
    }),
  }),
  fc.constant({ kind: 'going_away' as const, reason: '' }),
  fc.record({
    kind: fc.constant('settings' as const),
    settings: fc.record({ name: fc.constant('x'), streamsMax: fc.integer({ min: 1, max: 64 }) }),
  }),
  fc.record({ kind: fc.constantFrom('end' as const, 'cancel' as const), stream: fc.constant(1) }),
)

test('whatever a hostile agent sends, its own session ends at most, and nothing is held for it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyFrame, { maxLength: 40 }), async (frames) => {
      const budget = new BodyBudget(64 * MIB, SHARE)
      const gateway = new GatewayStreams({ write: () => {}, budget, owner: 'org' })
      const outcomes = [0, 100, 70_000, 300_000].map((bytes) =>
        gateway.send(head(bytes), inPieces(bytes), NEVER),
      )
      try {
        for (const frame of frames) {
          gateway.receive(frame)
          if (frame.kind === 'credit') await turn()
          expect(budget.used).toBeGreaterThanOrEqual(0)
        }
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
      }
      gateway.end()
      expect(await Promise.all(outcomes)).toHaveLength(outcomes.length)
      await turn()
      expect(gateway.inFlight + budget.used).toBe(0)
    }),
    { numRuns: 300 },
  )
})

test('frames that change nothing end the session, except for those that crossed with a cancel', async () => {
  const budget = new BodyBudget(64 * MIB, SHARE)
  const gateway = new GatewayStreams({ write: () => {}, budget, owner: 'org' })
  const controllers = Array.from({ length: 20 }, () => new AbortController())
  const sent = controllers.map(({ signal }) => gateway.send(head(0), inPieces(0), signal))
  await turn()
  for (const controller of controllers) controller.abort()
  await Promise.all(sent)
  for (let id = 1; id <= 20; id++) {
    for (let n = 0; n < 64; n++) gateway.receive({ kind: 'credit', stream: id, bytes: 1_024 })
    gateway.receive(answer(id))
  }
  const flood = (): void => {
    for (let n = 0; n < 200; n++)
      gateway.receive({ kind: 'settings', settings: { name: 'x', streamsMax: 64 } })
  }
  expect(flood).toThrow('Too many frames that change nothing')
})

test('owners that take all they can leave room for the next', () => {
  const budget = new BodyBudget(256 * MIB, 64 * MIB)
  for (let owner = 0; owner < 12; owner++) {
    while (budget.fits(String(owner), 1_024)) budget.add(String(owner), 1_024)
  }
  expect(budget.used).toBeLessThan(256 * MIB)
  expect(budget.fits('next', 1_024)).toBe(true)
})

test('requests that wait for room get it in turn, and one that was given up gets none', async () => {
  const budget = new BodyBudget(MIB, 100)
  const got: string[] = []
  const take = (name: string, bytes: number) => budget.take('org', bytes, () => got.push(name))
  take('first', 80)
  take('large', 60)
  const forget = take('gives up', 10)
  take('small', 10)
  forget()
  expect(got).toEqual(['first'])
  budget.give('org', 80)
  await sleep(1)
  expect(got).toEqual(['first', 'large', 'small'])
  expect(budget.used).toBe(70)
})
