import type { Clock } from '../../../core/clock.ts'
import { deliveryHeaders, parseHeaders } from '../../../core/delivery/delivery-headers.ts'
import { sign } from '../../../core/delivery/signature.ts'
import {
  unsent,
  type AttemptRequest,
  type AttemptResponse,
} from '../../../core/delivery/transport.ts'
import { encodeId, newId } from '../../../core/ids.ts'
import type { Logger } from '../../../core/log.ts'
import type { Attempted, Made, TypeIds } from '../record/recorder.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { TraceAttempt, TracedAttempt } from './attempt-traces.ts'
import type { Destination } from './destination.ts'
import type { Outgoing } from './outgoing.ts'
import type { Reach } from './reach.ts'

export interface AttemptDeps {
  clock: Clock
  log: Logger
  reach: Reach
  tokens: AccessTokens
  /** Undefined while traces are off. */
  trace?: TraceAttempt | undefined
}

/** Who an attempt failed at, when not the destination: its token endpoint, by its URL. */
export type Outcome = AttemptResponse & { tokenUrl?: string }

/** Signs and sends a delivery once. Never throws. Resolves when the endpoint has answered. */
export async function makeAttempt(
  deps: AttemptDeps,
  outgoing: Outgoing,
  destination: Destination,
): Promise<Attempted & { response: Outcome; traced: TracedAttempt | undefined }> {
  const startedAtMs = deps.clock.now()
  const traced = deps.trace?.(outgoing, destination)
  const { own, transport } = await accessTo(deps, destination)
  const composed = compose(outgoing, destination, { startedAtMs, own, trace: traced?.headers })
  const { typeIds, signature, headers, fault } = composed
  const { id: holder, organisationId: tenant, oauth2 } = destination
  const { origin, path, method, timeoutMs } = destination
  const { body } = outgoing
  const response: Outcome =
    fault === undefined
      ? await transport({ holder, tenant, origin, path, method, headers, body, timeoutMs })
      : unsent('internal', fault)
  if (response.status === 401 && oauth2 !== null && response.tokenUrl === undefined) {
    deps.tokens.forget(oauth2)
  }
  if (response.error === 'internal') {
    deps.log.warn({ err: response.fault, ...typeIds }, 'Cannot make an attempt')
  }
  const made: Made = {
    id: newId(startedAtMs),
    number: outgoing.attemptNumber + 1,
    trigger: outgoing.attemptTrigger,
    startedAtMs,
    durationMs: response.durationMs,
    dnsMs: response.connect?.dnsMs ?? null,
    connectMs: response.connect?.connectMs ?? null,
    tlsMs: response.connect?.tlsMs ?? null,
    firstByteMs: response.firstByteMs,
    url: response.tokenUrl ?? destination.url,
    signature,
    headerNames: destination.headerNames,
    responseStatus: response.status,
    responseHeaders: response.status === null ? null : JSON.stringify(response.headers),
    responseBody: response.body,
    errorCode: response.error,
    replicaId: response.replicaId ?? null,
  }
  return { made, typeIds, response, traced }
}

/** How a destination is reached, and its own headers, with an access token if it wants one. */
interface Access {
  own: readonly [string, string][]
  transport: (request: AttemptRequest) => Promise<Outcome>
}

/** Never throws: without a way or a token, the transport answers with the failure. */
async function accessTo(deps: AttemptDeps, destination: Destination): Promise<Access> {
  const { oauth2, headers: own, organisationId } = destination
  const transport = deps.reach(destination)
  if (transport === undefined) return { own, transport: async () => unsent('address_blocked') }
  if (oauth2 === null) return { own, transport }
  const askedAt = performance.now()
  const outcome = await deps.tokens.get(oauth2, organisationId)
  if ('token' in outcome) {
    return { own: [['authorization', `Bearer ${outcome.token}`], ...own], transport }
  }
  const durationMs = performance.now() - askedAt
  const failure = { ...outcome.failure, durationMs, tokenUrl: oauth2.tokenUrl }
  return { own, transport: async () => failure }
}

/** The parts of a request that its delivery decides. `fault` says why its headers cannot be read. */
interface Composed {
  typeIds: TypeIds
  signature: string
  headers: string[]
  fault?: unknown
}

function compose(
  outgoing: Outgoing,
  { id: destinationId, signer, overlap }: Destination,
  {
    startedAtMs,
    own,
    trace,
  }: { startedAtMs: number; own: Access['own']; trace: TracedAttempt['headers'] | undefined },
): Composed {
  const { event, eventId, connectionId, body } = outgoing
  const typeIds = {
    deliveryId: encodeId('dlv', outgoing.deliveryId),
    eventId: eventId === null ? null : encodeId('evt', eventId),
    destinationId: encodeId('dst', destinationId),
  }
  const timestampSeconds = Math.floor(startedAtMs / 1_000)
  const isOverlap = overlap !== null && overlap.untilMs > startedAtMs
  const signers = isOverlap ? overlap.signer : signer
  const signature = sign(signers, typeIds.deliveryId, timestampSeconds, body)
  const facts = {
    ...typeIds,
    connectionId: connectionId === null ? null : encodeId('con', connectionId),
    attempt: outgoing.attemptNumber + 1,
    attemptTrigger: outgoing.attemptTrigger,
    sourceName: event.sourceName,
    verifiedWith: event.verifiedWith,
    remoteIp: event.remoteIp === '' ? null : event.remoteIp,
    timestampSeconds,
    signature,
    trace,
  }
  try {
    const headers = deliveryHeaders(parseHeaders(event.headers), facts, own)
    return { typeIds, signature, headers }
  } catch (fault) {
    return { typeIds, signature, headers: [], fault }
  }
}
