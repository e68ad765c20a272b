import { STATUS, type Code } from '../../../core/errors.ts'
import { encodeId } from '../../../core/ids.ts'
import type { IngestResponse } from '../../../core/verify/config/ingest-response.ts'
import type { Rejection } from '../../../core/verify/request/signed-request.ts'
import type { StoreResult } from '../accept/event.ts'
import type { RequestOutcome } from '../accept/ingest-metrics.ts'

/** The answer to a sender. */
export interface Answer {
  status: number
  headers: Record<string, string>
  body: string | Buffer
  /** How the request ended, for the log line and the metrics. */
  outcome: RequestOutcome
  /** Why it was refused: the sentence that its sender got. */
  reason?: string
  /** The event that was stored. */
  eventId?: Buffer | undefined
  /** Why it was rejected: for the log line and the metrics, never for the sender. */
  rejection?: Rejection
  /** The rest of the request is not read: the connection ends with the answer. */
  close?: boolean
}

/** A body that somebody chose is no page of this origin, whatever its type says. */
const INERT = { 'x-content-type-options': 'nosniff', 'content-security-policy': 'sandbox' }

const OUTCOME_OF: Partial<Record<Code, RequestOutcome>> = {
  UNAUTHORIZED: 'rejected',
  RATE_LIMITED: 'rate_limited',
  PAYLOAD_TOO_LARGE: 'too_large',
  UNSUPPORTED_BODY: 'unsupported_body',
  QUOTA_EXCEEDED: 'quota_exceeded',
  NOT_FOUND: 'not_found',
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** A refusal in ingest's flat shape. (spec: Envelopes) */
export function refusal(code: Code, message: string, data?: object): Answer {
  return {
    status: STATUS[code],
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify({ ok: false, code, message, ...(data && { data }) }),
    outcome: OUTCOME_OF[code] ?? 'bad_request',
    reason: message,
  }
}

/** An answer that the closed table of codes does not have: 405 and 503. (decisions: Ingest) */
export function plainRefusal(
  status: number,
  message: string,
  headers: Record<string, string> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': JSON_TYPE, ...headers },
    body: JSON.stringify({ ok: false, message }),
    outcome: outcomeOf(status),
    reason: message,
  }
}

function outcomeOf(status: number): RequestOutcome {
  if (status === 503) return 'unavailable'
  return status === 413 || status === 431 ? 'too_large' : 'bad_request'
}

export function unavailable(): Answer {
  return plainRefusal(503, 'The event could not be stored, try again', { 'retry-after': '1' })
}

/** Time for a name to lead to the other installation. */
const MOVED_RETRY_SECONDS = '30'

/** A sender that repeats finds the organisation where it has moved to; on this connection it would find it here. */
export function moved(): Answer {
  return plainRefusal(503, 'This source has moved to another installation, try again', {
    'retry-after': MOVED_RETRY_SECONDS,
    connection: 'close',
  })
}

/** The answer to the sender of an event, by its outcome. */
export function answerTo(result: StoreResult, response: IngestResponse): Answer {
  switch (result.kind) {
    case 'stored':
      return { ...taken(response, result.event.id), outcome: 'stored' }
    case 'spooled':
      // To its sender it is stored: the store that took it is as durable.
      return { ...taken(response, result.id), outcome: 'stored' }
    case 'duplicate': {
      const own = '{"ok":true,"duplicate":true}'
      return { ...accepted(response, own, {}), outcome: 'duplicate' }
    }
    case 'over_quota':
      return refusal('QUOTA_EXCEEDED', 'The delivery quota of this window is used up', {
        limit: result.limit,
        current: result.current,
        resetAt: new Date(result.resetAtMs).toISOString(),
      })
    case 'failed':
      return unavailable()
  }
}

function taken(response: IngestResponse, id: Buffer): Omit<Answer, 'outcome'> {
  const eventId = encodeId('evt', id)
  const own = `{"ok":true,"eventId":"${eventId}"}`
  return { ...accepted(response, own, { 'postern-event-id': eventId }), eventId: id }
}

function accepted(
  response: IngestResponse,
  own: string,
  headers: Record<string, string>,
): Omit<Answer, 'outcome'> {
  switch (response.kind) {
    case 'default':
      return { status: 200, headers: { 'content-type': JSON_TYPE, ...headers }, body: own }
    case 'empty':
      return { status: response.status ?? 200, headers, body: '' }
    case 'static': {
      const type = response.contentType ?? 'text/plain; charset=utf-8'
      return {
        status: 200,
        headers: { 'content-type': type, ...INERT, ...headers },
        body: response.body ?? '',
      }
    }
  }
}
