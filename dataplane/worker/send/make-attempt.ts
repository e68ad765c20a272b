import type { Clock } from '../../../core/clock.ts'
import type { DeliveryResult } from '../../../core/db/deliveries/work/record-results.ts'
import { deliveryHeaders, parseHeaders } from '../../../core/delivery/delivery-headers.ts'
import { sign } from '../../../core/delivery/signature.ts'
import { unsent, type AttemptResponse, type Transport } from '../../../core/delivery/transport.ts'
import { encodeId, newId } from '../../../core/ids.ts'
import type { Logger } from '../../../core/log.ts'
import type { Tracing } from '../../../core/tracing/tracing.ts'
import type { AccessTokens } from './access-tokens.ts'
import { traceAttempt, type TracedAttempt } from './attempt-traces.ts'
import type { ClientCredentials, Destination } from './destination.ts'
import type { Reach } from './reach.ts'

export interface AttemptDeps {
  clock: Clock
  log: Logger
  reach: Reach
  tokens: AccessTokens
  /** Undefined while traces are off. */
  tracing?: Tracing | undefined
}

/** The content of an attempt; facts that are null have no header. */
export interface Outgoing {
  deliveryId: string
  eventId: string | null
  connectionId: string | null
  attemptTrigger: DeliveryResult['attempt']['trigger']
  /** Attempts made before this one. */
  attemptNumber: number
  /** Its event was delivered before. */
  isReplay?: boolean
  /** When a worker asked for it, on the monotonic clock. */
  askedAt?: number
  event: {
    /** As they are stored. */
    headers: string
    verifiedWith: string | null
    remoteIp: string
    sourceName: string | null
  }
  body: Buffer
}

/** An attempt as it is kept, before it is decided what follows from it. */
type Made = Omit<DeliveryResult['attempt'], 'outcome'>

/** The ids for headers, the signature and a log line, encoded once. */
export interface TypeIds {
  deliveryId: string
  eventId: string | null
}

/** Who an attempt failed at, when not the destination: its token endpoint, by its URL. */
export type Outcome = AttemptResponse & { tokenUrl?: string }

/** Signs and sends a delivery once. Never throws. Resolves when the endpoint has answered. */
export async function makeAttempt(
  deps: AttemptDeps,
  outgoing: Outgoing,
  destination: Destination,
): Promise<{ made: Made; typeIds: TypeIds; response: Outcome; traced: TracedAttempt | undefined }> {
  const startedAtMs = deps.clock.now()
  const traced = deps.tracing && traceAttempt(deps.tracing, outgoing, destination)
  const typeIds = {
    deliveryId: encodeId('dlv', outgoing.deliveryId),
    eventId: outgoing.eventId === null ? null : encodeId('evt', outgoing.eventId),
  }
  const signature = signatureOf(outgoing.body, { typeIds, destination, startedAtMs })
  const response = await respond(deps, {
    outgoing,
    typeIds,
    destination,
    startedAtMs,
    signature,
    traced,
  })
  if (response.error === 'internal') {
    const destinationId = encodeId('dst', destination.id)
    deps.log.warn({ err: response.fault, ...typeIds, destinationId }, 'Cannot make an attempt')
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

interface Sending {
  outgoing: Outgoing
  typeIds: TypeIds
  destination: Destination
  startedAtMs: number
  signature: string
  traced: TracedAttempt | undefined
}

function respond(deps: AttemptDeps, sending: Sending): Promise<Outcome> {
  const { oauth2, headers } = sending.destination
  const transport = deps.reach(sending.destination)
  if (transport === undefined) return Promise.resolve(unsent('address_blocked'))
  return oauth2 === null
    ? send(transport, sending, headers)
    : sendWithToken({ ...deps, transport }, sending, oauth2)
}

async function sendWithToken(
  { tokens, transport }: AttemptDeps & { transport: Transport },
  sending: Sending,
  oauth2: ClientCredentials,
): Promise<Outcome> {
  const askedAt = performance.now()
  const outcome = await tokens.get(oauth2, sending.destination.organisationId)
  if ('failure' in outcome) {
    const durationMs = performance.now() - askedAt
    return { ...outcome.failure, durationMs, tokenUrl: oauth2.tokenUrl }
  }
  const own: [string, string] = ['authorization', `Bearer ${outcome.token}`]
  const response = await send(transport, sending, [own, ...sending.destination.headers])
  if (response.status === 401) tokens.forget(oauth2)
  return response
}

function send(
  transport: Transport,
  sending: Sending,
  own: readonly [string, string][],
): Promise<AttemptResponse> {
  const { id: holder, organisationId: tenant } = sending.destination
  const { origin, path, method, timeoutMs } = sending.destination
  const { body } = sending.outgoing
  let headers
  try {
    headers = headersOf(sending, own)
  } catch (error) {
    return Promise.resolve(unsent('internal', error))
  }
  return transport({ holder, tenant, origin, path, method, headers, body, timeoutMs })
}

function headersOf(sending: Sending, own: readonly [string, string][]): string[] {
  const { outgoing, typeIds, startedAtMs, signature, traced } = sending
  const { headers, remoteIp, sourceName, verifiedWith } = outgoing.event
  const facts = {
    ...typeIds,
    connectionId: outgoing.connectionId === null ? null : encodeId('con', outgoing.connectionId),
    attempt: outgoing.attemptNumber + 1,
    attemptTrigger: outgoing.attemptTrigger,
    sourceName,
    verifiedWith,
    remoteIp: remoteIp === '' ? null : remoteIp,
    timestampSeconds: Math.floor(startedAtMs / 1_000),
    signature,
    trace: traced?.headers,
  }
  return deliveryHeaders(parseHeaders(headers), facts, own)
}

function signatureOf(
  body: Buffer,
  { typeIds, destination, startedAtMs }: Pick<Sending, 'typeIds' | 'destination' | 'startedAtMs'>,
): string {
  const { overlap, signer } = destination
  const isOverlap = overlap !== null && overlap.untilMs > startedAtMs
  const at = Math.floor(startedAtMs / 1_000)
  return sign(isOverlap ? overlap.signer : signer, typeIds.deliveryId, at, body)
}
