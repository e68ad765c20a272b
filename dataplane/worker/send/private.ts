import { setTimeout as sleep } from 'node:timers/promises'

import {
  unsent,
  type AttemptRequest,
  type AttemptResponse,
  type ConnectPhases,
  type Transport,
} from '../../../core/delivery/transport.ts'
import { RESPONSE_KEPT_BYTES } from '../../../core/limits.ts'
import type { Failure, RequestHead, ResponseHead } from '../../../core/tunnel/protocol.ts'
import type { CallOutcome, GatewayCalls } from './gateway-calls.ts'

/** How often a request that surely was not sent is given to the next session at once. */
const DISPATCHES_MAX = 5
const DISPATCH_AGAIN_MS = 20

/** Sends through a connector: whichever gateway has a session of it gives the request to an agent. */
export function privateTransport(calls: GatewayCalls, connectorId: string): Transport {
  return async (request) => {
    const startedAt = performance.now()
    if (!Buffer.isBuffer(request.body)) return unsent('internal', new Error('Body is a stream'))
    const head = { connectorId, request: headOf(request, request.body) }
    const outcome = await dispatch(calls, head, request.body)
    return responseOf(outcome, performance.now() - startedAt, request)
  }
}

/**
 * An agent that goes away refuses requests that were under way to it, and a gateway may be full: another one has them at
 * once.
 */
async function dispatch(
  calls: GatewayCalls,
  head: { connectorId: string; request: RequestHead },
  body: Buffer,
): Promise<CallOutcome> {
  let outcome = await calls.call(head, body)
  for (let tries = 1; tries < DISPATCHES_MAX; tries++) {
    if (outcome.kind !== 'unsent') break
    await sleep(DISPATCH_AGAIN_MS * tries)
    outcome = await calls.call(head, body)
  }
  return outcome
}

function headOf(request: AttemptRequest, body: Buffer): RequestHead {
  const { headers, method, origin, path, timeoutMs } = request
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < headers.length; at += 2) {
    pairs.push([headers[at] ?? '', headers[at + 1] ?? ''])
  }
  return {
    attemptId: crypto.randomUUID(),
    method,
    url: origin + path,
    headers: pairs,
    bodyBytes: body.length,
    timeoutMs,
  }
}

function responseOf(
  outcome: CallOutcome,
  durationMs: number,
  { keptBytes = RESPONSE_KEPT_BYTES }: AttemptRequest,
): AttemptResponse {
  switch (outcome.kind) {
    case 'response': {
      const { reply, body } = outcome
      const kept = Buffer.from(body.subarray(0, keptBytes))
      return { ...answered(reply.head, kept), replicaId: reply.replicaId }
    }
    case 'failure':
      return { ...failed(outcome.reply.failure), replicaId: outcome.reply.replicaId }
    case 'offline':
      return { ...unsent('connector_offline'), durationMs, held: 'offline' }
    case 'unsent':
      return {
        ...unsent('connector_offline'),
        durationMs,
        held: outcome.isFull ? 'full' : 'refused',
      }
    case 'silent':
      return { ...unsent('connector_timeout'), durationMs, replicaId: outcome.replicaId }
    case 'lost':
      return { ...unsent('connector_lost'), durationMs, replicaId: outcome.replicaId }
  }
}

/** Times are those that the agent measured, at the destination. */
function answered({ status, headers, phases }: ResponseHead, body: Buffer): AttemptResponse {
  return {
    status,
    headers: headers.map(([name, value]) => [name.toLowerCase(), value]),
    body,
    error: status >= 200 && status < 300 ? null : 'bad_response',
    durationMs: phases.totalMs,
    firstByteMs: phases.firstByteMs,
    connect: connectOf(phases),
  }
}

function failed({ code, message, phases }: Failure): AttemptResponse {
  return {
    // An agent that refuses what it may have begun to send has lost it.
    ...unsent(code === 'refused' ? 'connector_lost' : code, new Error(message)),
    durationMs: phases.totalMs,
    firstByteMs: phases.firstByteMs,
    connect: connectOf(phases),
  }
}

function connectOf({ dnsMs, connectMs, tlsMs }: Failure['phases']): ConnectPhases | null {
  if (dnsMs === null && connectMs === null && tlsMs === null) return null
  return { dnsMs: dnsMs ?? 0, connectMs: connectMs ?? 0, tlsMs: tlsMs ?? 0 }
}
