import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { BODY_RATE_SECONDS, HEADERS_TIMEOUT_MS } from '../../core/limits.ts'
import { startRelay, type Relay } from './relay.ts'

const Source = z.object({ ingestUrl: z.url() })

/** Connections of one address. */
const CONNECTIONS = 200
const MIB = 1024 * 1024

/** Behind its limit a request has a second until Node looks, one to read its refusal, and what a busy machine takes. */
const FREED_WITHIN_MS = 10_000

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ CONNECTIONS_PER_ADDRESS: String(CONNECTIONS) })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

async function makeSource(name: string): Promise<URL> {
  const body = { name, verifier: { type: 'none' }, maxPayloadSizeKb: 5_120 }
  return new URL(Source.parse(await relay.api('POST', '/v1/sources', body)).ingestUrl)
}

/** A client that sends what it is given, and then neither sends nor closes. */
function hold(url: URL, bytes: string | Buffer, localAddress = '127.0.0.1'): Held {
  const socket = connect({
    host: '127.0.0.1',
    port: Number(url.port),
    localAddress,
    allowHalfOpen: true,
  })
  const held: Held = { socket, status: undefined }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    held.status ??= Number(chunk.toString('latin1').split(' ')[1])
  })
  socket.write(bytes)
  return held
}

interface Held {
  socket: Socket
  /** Status of its answer. */
  status: number | undefined
}

function descriptors(role: 'ingest' | 'api'): number {
  return readdirSync(`/proc/${relay.role(role)}/fd`).length
}

/** The status that a sender of another address gets; 0 when it gets none. */
async function send(url: URL, body: Buffer): Promise<number> {
  const head = `POST ${url.pathname} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`
  const held = hold(url, Buffer.concat([Buffer.from(head), body]), '127.0.0.2')
  await new Promise((resolve) => held.socket.once('end', resolve).once('close', resolve))
  held.socket.destroy()
  return held.status ?? 0
}

/** Sends from another address until it is told to stop; returns the statuses and the longest wait. */
async function sendMeanwhile(
  url: URL,
  signal: AbortSignal,
): Promise<{ statuses: Set<number>; longestMs: number }> {
  const statuses = new Set<number>()
  let longestMs = 0
  while (!signal.aborted) {
    const beganAt = performance.now()
    statuses.add(await send(url, Buffer.alloc(300_000, 'x')))
    longestMs = Math.max(longestMs, performance.now() - beganAt)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return { statuses, longestMs }
}

test('clients that send half a header and fall silent free their descriptors, and refuse nobody else', async () => {
  const other = await makeSource('other')
  const before = { ingest: descriptors('ingest'), api: descriptors('api') }
  for (const role of ['ingest', 'api'] as const) {
    const limit = String(descriptors(role) + CONNECTIONS + 60)
    execFileSync('prlimit', ['--pid', String(relay.role(role)), `--nofile=${limit}:`])
  }
  const stop = new AbortController()
  const meanwhile = sendMeanwhile(other, stop.signal)
  const beganAt = performance.now()
  const attack = [other, new URL(relay.apiUrl)].flatMap((url) =>
    Array.from({ length: CONNECTIONS + 100 }, () => hold(url, 'POST /x HTTP/1.1\r\nhost: a\r\nx-')),
  )
  const count = (status: number): number => attack.filter((one) => one.status === status).length
  await vi.waitFor(() => expect(count(429)).toBeGreaterThanOrEqual(200), { timeout: 10_000 })
  await vi.waitFor(() => expect(count(408)).toBeGreaterThan(2 * CONNECTIONS - 10), {
    timeout: HEADERS_TIMEOUT_MS + FREED_WITHIN_MS,
  })
  await vi.waitFor(
    () => {
      expect(descriptors('ingest')).toBeLessThan(before.ingest + 10)
      expect(descriptors('api')).toBeLessThan(before.api + 10)
    },
    { timeout: FREED_WITHIN_MS, interval: 100 },
  )
  const tookMs = performance.now() - beganAt
  stop.abort()
  const { statuses, longestMs } = await meanwhile
  expect([...statuses]).toEqual([200])
  expect(longestMs).toBeLessThan(5_000)
  expect(tookMs).toBeLessThan(HEADERS_TIMEOUT_MS + 2 * FREED_WITHIN_MS)
  for (const { socket } of attack) socket.destroy()
}, 90_000)

test('clients that hold bodies back use up the room of their source alone, and only for a while', async () => {
  const [mine, other] = [await makeSource('held back'), await makeSource('beside')]
  const head = `POST ${mine.pathname} HTTP/1.1\r\nhost: a\r\ncontent-length: ${5 * MIB}\r\n\r\n`
  const most = Buffer.concat([Buffer.from(head), Buffer.alloc(5 * MIB - 1, 'x')])
  const stop = new AbortController()
  const meanwhile = sendMeanwhile(other, stop.signal)
  const attack = Array.from({ length: 60 }, () => hold(mine, most))
  const statuses = (): (number | undefined)[] => attack.map(({ status }) => status)
  await vi.waitFor(() => expect(statuses()).toContain(503), { timeout: 15_000 })
  // Senders without room are refused at once, the others when they are silent for too long.
  await vi.waitFor(() => expect(new Set(statuses())).toEqual(new Set([408, 503])), {
    timeout: BODY_RATE_SECONDS * 2_000 + FREED_WITHIN_MS,
  })
  expect(await send(mine, Buffer.alloc(5 * MIB, 'x'))).toBe(200)
  stop.abort()
  expect([...(await meanwhile).statuses]).toEqual([200])
  for (const { socket } of attack) socket.destroy()
}, 90_000)
