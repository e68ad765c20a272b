import { z } from 'zod'

import { findSource, type ActiveSource } from '../../../core/db/configuration/sources.ts'
import { refuse } from '../../../core/errors.ts'
import { decodeId } from '../../../core/ids.ts'
import { SAMPLE_ANSWER_BYTES_MAX, SAMPLE_TIMEOUT_MS } from '../../../core/limits.ts'
import { openSourceSecrets } from '../../../core/secrets/source-secrets.ts'
import type { SignedRequest } from '../../../core/verify/request/signed-request.ts'
import { makeSample, type Sample } from '../../../core/verify/sample/sample.ts'
import type { Deps } from '../../deps.ts'
import { refuseMissing, Unavailable } from '../../http/failure.ts'
import type { Call } from '../../http/route.ts'
import { audit } from '../../writes/transact.ts'

type OfSource = Pick<Call<{ id: string }>, 'deps' | 'principal' | 'reach' | 'params'>

/** The refusals of ingest that say more than that it refused. */
const Refused = z.discriminatedUnion('code', [
  z.object({
    code: z.literal('QUOTA_EXCEEDED'),
    message: z.string(),
    data: z.object({ limit: z.number(), current: z.number(), resetAt: z.string() }),
  }),
  z.object({
    code: z.literal('RATE_LIMITED'),
    message: z.string(),
    data: z.object({ limit: z.number(), remaining: z.number(), retryAfterSeconds: z.number() }),
  }),
])

interface Answered {
  status: number
  /** The event that was stored. */
  eventId: string | undefined
  /** Read where there is none. */
  text: string
}

export async function sampleOf({
  deps,
  reach,
  params,
}: Omit<OfSource, 'principal'>): Promise<{ source: ActiveSource; sample: Sample }> {
  const source = (await findSource(deps.db, reach, params.id)) ?? refuseMissing('src', params.id)
  const { current, members } = openSourceSecrets(deps.keyring, source)
  const address = `${deps.ingestUrl}/${source.maskId}`
  const sample = makeSample(source, { current, members }, { address, nowMs: deps.clock.now() })
  return { source, sample }
}

/** Sends a sample the way that every webhook comes. Returns the id of its event. */
export async function sendSample(call: OfSource): Promise<string> {
  const { deps, principal } = call
  const { source, sample } = await sampleOf(call)
  if ('obstacle' in sample) refuse('CONFLICT', `Cannot send a sample: ${sample.obstacle}`)
  await deps.callers.take(deps.db, 'sample', source.id)
  const answered = await send(deps, sample.request)
  const eventId = answered.eventId ?? refuseAs(answered)
  const { id, projectId } = source
  const change = { kind: 'source', verb: 'test', id, changes: {} } as const
  await audit(deps.db, deps, { ...change, principal, projectId })
  return eventId
}

/**
 * To where the operator says that ingest is, and nowhere else: neither the source nor an answer names a host. A redirect is
 * not followed, and nothing of an answer is shown but the refusals of ingest.
 */
async function send({ ingestServiceUrl, log }: Deps, request: SignedRequest): Promise<Answered> {
  const { method, path, query, rawHeaders = [], body } = request
  const url = `${ingestServiceUrl}${path}${query === '' ? '' : `?${query}`}`
  try {
    const answer = await fetch(url, {
      method,
      headers: rawHeaders.map(([name, value]): [string, string] => [name, value]),
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(SAMPLE_TIMEOUT_MS),
    })
    const { ok, status, headers } = answer
    const eventId = ok ? decodeId('evt', headers.get('postern-event-id') ?? '') : undefined
    const bytes = Number(headers.get('content-length') ?? Infinity)
    const isRead = eventId === undefined && bytes <= SAMPLE_ANSWER_BYTES_MAX
    const text = isRead ? await answer.text() : ''
    if (!isRead) await answer.body?.cancel()
    return { status, eventId, text }
  } catch (err) {
    log.warn({ err, url: ingestServiceUrl }, 'Cannot reach ingest: see INGEST_SERVICE_URL')
    throw new Unavailable('Cannot send a sample: ingest does not answer')
  }
}

function refuseAs({ status, text }: Answered): never {
  if (status < 300) {
    refuse(
      'CONFLICT',
      'Cannot send a sample: by the idempotency keys of the source it repeats an earlier event',
    )
  }
  const { data: refused } = Refused.safeParse(parsed(text))
  if (refused?.code === 'QUOTA_EXCEEDED') refuse(refused.code, refused.message, refused.data)
  if (refused?.code === 'RATE_LIMITED') refuse(refused.code, refused.message, refused.data)
  // Ingest and API read a change of the source at different moments.
  if (status === 401 || status === 404) {
    refuse('CONFLICT', 'Cannot send a sample: the source was changed meanwhile, try again')
  }
  throw new Unavailable(`Cannot send a sample: ingest answered ${status} without an event`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
