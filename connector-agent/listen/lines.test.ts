import { expect, test } from 'vitest'

import type { Performed } from '../requests/perform.ts'
import type { Answer } from '../tunnel/streams.ts'
import { detailsOf, lineOf } from './lines.ts'

const PHASES = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, totalMs: 1 }
const NOW = new Date(2026, 10, 25, 9, 5, 7)
const REFUSED: Answer = {
  kind: 'failure',
  failure: {
    code: 'connection_refused',
    message: 'nothing listens at localhost:3000',
    isUnsent: true,
    phases: PHASES,
  },
}

function answered(status: number, body = 'ok'): Answer {
  return {
    kind: 'response',
    head: { status, headers: [['content-type', 'text/plain']], phases: PHASES },
    body: Buffer.from(body),
  }
}

function performed(
  answer: Answer,
  body: string | undefined = '{"type":"invoice.paid"}',
): Performed {
  return {
    head: {
      attemptId: 'a',
      method: 'POST',
      url: 'http://localhost:3000/',
      headers: [
        ['content-type', 'application/json'],
        ['X-GitHub-Event', 'push'],
        ['postern-delivery-id', 'dlv_1'],
      ],
      bodyBytes: 100_000,
      timeoutMs: 1_000,
    },
    answer,
    body: body === undefined ? undefined : Buffer.from(body),
    durationMs: 12.4,
  }
}

function shown(done: Performed, eventTypeField: string | null = 'body.type') {
  return lineOf(done, { eventTypeField, hasColours: false, now: NOW })
}

test('a line has time, type, status, duration and id', () => {
  expect(shown(performed(answered(200)))).toEqual({
    deliveryId: 'dlv_1',
    isSuccess: true,
    isRefused: false,
    line: '09:05:07  invoice.paid              200      12 ms  dlv_1',
  })
  expect(shown(performed(answered(500)))).toMatchObject({ isSuccess: false })
})

test('a delivery that found no server says so in plain words', () => {
  const { line, isRefused } = shown(performed(REFUSED))
  expect(isRefused).toBe(true)
  expect(line).toContain(
    'not delivered: nothing listens at localhost:3000; it is sent again when your server runs',
  )
})

test.for([
  ['header.x-github-event', 'push'],
  ['body.type', 'invoice.paid'],
  ['body.none', '-'],
  [null, '-'],
] as const)('the type by %s is %s', ([selector, type]) => {
  expect(shown(performed(answered(200)), selector).line.split(/\s+/)[1]).toBe(type)
})

test('a body that was not kept has no type, and a body that is no JSON neither', () => {
  expect(shown({ ...performed(answered(200)), body: undefined }).line).toContain('  -  ')
  expect(shown(performed(answered(200), '{')).line).toContain('  -  ')
})

test('no control character of a stranger reaches the terminal', () => {
  const evil = performed(
    answered(200, 'a\u001B[2Jb\u0007\r\nc\u009Bd\u202E'),
    '{"type":"\\u001b[31m"}',
  )
  const text = `${shown(evil).line}\n${detailsOf(evil)}`
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})

test('details show both sides, and how large a body is that was not kept', () => {
  const text = detailsOf(performed(answered(200, 'line one\nline two')))
  expect(text).toContain('  > X-GitHub-Event: push\n')
  expect(text).toContain('  > {"type":"invoice.paid"}')
  expect(text).toContain('  < line one\n  < line two')
  expect(detailsOf({ ...performed(REFUSED), body: undefined })).toContain('  > (100000 bytes)')
  expect(detailsOf(performed(answered(200, 'a'.repeat(20_000)))).length).toBeLessThan(12_000)
})
