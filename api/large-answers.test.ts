import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'

import { afterEach, expect, test, vi } from 'vitest'

import {
  ANSWER_BYTES_PER_SECOND_MIN,
  ANSWER_RATE_SECONDS,
  ANSWERS_PER_ORGANISATION,
  ANSWERS_PER_PROCESS,
  ANSWERS_WAITING_MAX,
} from '../core/limits.ts'
import { TooManyRequests } from './auth/rate-limit.ts'
import { LargeAnswers } from './large-answers.ts'

/** `free-…` are organisations that one stranger made, `new-…` each of another network. */
const SHARES = {
  async of(id: string): Promise<string> {
    if (id.startsWith('free-')) return 'network of a stranger'
    return id.startsWith('new-') ? `network ${id}` : id
  },
}

const PIECE = Buffer.alloc(256 * 1024)

async function read(): Promise<AsyncIterable<Buffer>> {
  return (async function* pieces() {
    for (let count = 0; count < 16; count += 1) yield PIECE
  })()
}

afterEach(() => void vi.useRealTimers())

/** Whether an answer is open after all that can happen at once has happened. */
async function isOpen(answer: Promise<unknown>): Promise<boolean> {
  let opened = false
  void answer.then(() => (opened = true))
  await new Promise((resolve) => setImmediate(resolve))
  return opened
}

test('an organisation has its share of the places, and one more than may wait is refused', async () => {
  const answers = new LargeAnswers(SHARES)
  const places = Array.from({ length: ANSWERS_PER_ORGANISATION }, () => answers.open('busy', read))
  const open = await Promise.all(places)
  const waiting = Array.from({ length: ANSWERS_WAITING_MAX }, async () => {
    return await buffer(await answers.open('busy', read))
  })
  await expect(answers.open('busy', read)).rejects.toThrow(TooManyRequests)
  expect(await buffer(await answers.open('other', read))).toHaveLength(16 * PIECE.length)
  for (const answer of open) answer.destroy()
  for (const taken of await Promise.all(waiting)) expect(taken).toHaveLength(16 * PIECE.length)
})

test('organisations that share a share have its places together', async () => {
  const answers = new LargeAnswers(SHARES)
  const places = Array.from({ length: ANSWERS_PER_ORGANISATION }, (_, index) =>
    answers.open(`free-${index}`, read),
  )
  const open = await Promise.all(places)
  const next = answers.open('free-next', read)
  expect(await isOpen(next)).toBe(false)
  expect(await isOpen(answers.open('other', read))).toBe(true)
  for (const answer of open) answer.destroy()
  expect(await buffer(await next)).toHaveLength(16 * PIECE.length)
})

test('newcomers of many networks have half of the places together', async () => {
  const answers = new LargeAnswers(SHARES)
  const places = Array.from({ length: ANSWERS_PER_PROCESS / 2 }, (_, index) =>
    answers.open(`new-${index}`, read),
  )
  const open = await Promise.all(places)
  const next = answers.open('new-next', read)
  const others = Array.from({ length: ANSWERS_PER_PROCESS / 2 }, (_, index) =>
    answers.open(`known-${index}`, read),
  )
  const taken = await Promise.all(others)
  expect(await isOpen(next)).toBe(false)
  for (const answer of [...open, ...taken]) answer.destroy()
  expect(await buffer(await next)).toHaveLength(16 * PIECE.length)
})

test('an answer that cannot be read gives its place back', async () => {
  const answers = new LargeAnswers(SHARES)
  const fail = async (): Promise<never> => await Promise.reject(new Error('gone'))
  for (let count = 0; count <= ANSWERS_PER_PROCESS; count += 1) {
    await expect(answers.open('failing', fail)).rejects.toThrow('gone')
  }
  async function* breaking(): AsyncGenerator<Buffer> {
    yield PIECE
    throw new Error('broken')
  }
  for (let count = 0; count <= ANSWERS_PER_PROCESS; count += 1) {
    const answer = await answers.open('failing', async () => breaking())
    await expect(buffer(answer)).rejects.toThrow('broken')
  }
})

test('a client that takes its answer too slowly loses it, also after a quick start', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const answers = new LargeAnswers(SHARES)
  const slow = await answers.open('slow', read)
  const quickAtFirst = await answers.open('slow', read)
  let taken = 0
  while (taken < ANSWER_BYTES_PER_SECOND_MIN * ANSWER_RATE_SECONDS) {
    await once(quickAtFirst, 'readable')
    for (let piece; (piece = quickAtFirst.read()) !== null;) taken += piece.length
  }
  vi.advanceTimersByTime(ANSWER_RATE_SECONDS * 1_000)
  expect([slow.destroyed, quickAtFirst.destroyed]).toEqual([true, false])
  vi.advanceTimersByTime(ANSWER_RATE_SECONDS * 1_000)
  await once(quickAtFirst, 'close')
  expect(vi.getTimerCount()).toBe(0)
})
