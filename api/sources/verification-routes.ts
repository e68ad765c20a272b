import { z } from 'zod'

import { findSource } from '../../core/db/configuration/sources.ts'
import { refuse } from '../../core/errors.ts'
import { joinHeaders } from '../../core/request/headers.ts'
import { toBinary } from '../../core/request/text.ts'
import { openSourceSecrets } from '../../core/secrets/source-secrets.ts'
import { verifyWithKeys } from '../../core/verify/keys.ts'
import { listPresets } from '../../core/verify/presets/presets.ts'
import { type SignedRequest } from '../../core/verify/request/signed-request.ts'
import { compileVerifier } from '../../core/verify/verify.ts'
import { refuseMissing } from '../http/failure.ts'
import { Moment } from '../http/fields.ts'
import { route } from '../http/route.ts'
import { RejectionReason } from './rejection.ts'

const noQuery = z.strictObject({})

const Preset = z
  .object({
    preset: z.string().describe('The name that a verifier’s `preset` takes.'),
    type: z
      .string()
      .describe('The kind of check: the `type` that a verifier written in full would have.'),
    needs: z
      .array(z.string())
      .describe('Members that the short form must give; `handshake.` ones belong to the source.'),
    config: z
      .record(z.string(), z.unknown())
      .describe('The members of a verifier that the preset fills in.'),
    handshake: z
      .string()
      .nullable()
      .describe('The kind of its handshake; null when the provider makes none.'),
    ingestResponse: z
      .record(z.string(), z.unknown())
      .describe('The `ingestResponse` that a source gets with it.'),
    allowedMethods: z
      .array(z.string())
      .describe('The `allowedMethods` that a source gets with it.'),
    eventTypeField: z
      .string()
      .nullable()
      .describe('The selector of the event’s type; null where the provider has none.'),
    idempotencyKeys: z
      .array(z.string())
      .describe('Selectors of the value that identifies an event of the provider.'),
    forcesIdempotencyKeys: z
      .boolean()
      .describe('These keys are always used: without them an attacker could send a request again.'),
    bodyAuthenticated: z.boolean().describe('Its verifier covers the body.'),
  })
  .meta({ id: 'VerifierPreset', description: 'The verifier of a provider, known by name.' })

const PresetList = z
  .object({ data: z.array(Preset).describe('All presets by name.') })
  .meta({ id: 'VerifierPresetList', description: 'Every provider that is known by name.' })

const HeaderValue = z
  .union([z.string(), z.array(z.string()).max(100)])
  .meta({ id: 'HeaderValue', description: 'A value, or several of a header that is repeated.' })

const TestSignature = z
  .strictObject({
    headers: z
      .record(z.string().min(1).max(256), HeaderValue)
      .describe('The headers of the request by their names.'),
    body: z.string().optional().describe('Its body as text; or give `bodyBase64`.'),
    bodyBase64: z.base64().optional().describe('Its body in base64; or give `body`.'),
    method: z
      .string()
      .regex(/^[A-Z]{1,20}$/, 'Expected a method in capitals')
      .default('POST')
      .describe('The HTTP method, in capitals.'),
    url: z
      .url({ protocol: /^https?$/ })
      .max(8192)
      .optional()
      .describe('Its URL; the ingest URL of the source by default.'),
    now: Moment.optional().describe('The time at which to verify; now by default.'),
  })
  .refine(({ body, bodyBase64 }) => (body === undefined) !== (bodyBase64 === undefined), {
    message: 'Expected one of body and bodyBase64',
    path: ['body'],
  })
  .meta({
    id: 'SignatureTest',
    description: 'A request to verify.',
    examples: [{ headers: { 'x-hub-signature-256': 'sha256=5d7f…' }, body: '{"id":1}' }],
  })

export const Diagnosis = z
  .object({
    valid: z.boolean().describe('The request would be accepted.'),
    reason: RejectionReason.nullable().describe('Why it would be rejected; null if accepted.'),
    detail: z
      .string()
      .nullable()
      .describe('The fault of the verifier itself; null when it has none.'),
    verifiedWith: z.string().describe('The preset or the type of the verifier.'),
    secret: z
      .enum(['current', 'previous'])
      .nullable()
      .describe('The secret that verified it; null when none did.'),
  })
  .meta({
    id: 'SignatureDiagnosis',
    description: 'The answer of ingest to a request, before it is sent.',
  })

export const VERIFICATION_ROUTES = [
  route({
    method: 'GET',
    path: '/verifier-presets',
    operationId: 'listVerifierPresets',
    tag: 'Sources',
    summary: 'List the verifier presets',
    description:
      '`needs` lists the members that the short form `{ preset, ... }` must still give; members of `handshake` belong to the source. A source created with the preset takes over `eventTypeField` unless it names another. `idempotencyKeys` are suggestions, given only if each event of the provider has a key of its own.',
    permission: 'any_key',
    scope: 'reach',
    params: {},
    query: noQuery,
    body: null,
    responses: { 200: PresetList },
    errors: [],
    async handle() {
      const data = listPresets().map((entry) => ({
        ...entry,
        ingestResponse: { ...entry.ingestResponse },
      }))
      return { status: 200, body: { data } }
    },
  }),
  route({
    method: 'POST',
    path: '/sources/:id/test-signature',
    operationId: 'testSignature',
    tag: 'Sources',
    summary: 'Test whether a source would accept a request',
    description:
      'Runs the same verification as ingest, at the time `now` if given. Stores nothing. `reason` says why the request would be rejected, `detail` which fault the verifier itself has.',
    permission: { resource: 'sources', level: 'write' },
    scope: 'reach',
    params: { id: 'src' },
    query: noQuery,
    body: TestSignature,
    responses: { 200: Diagnosis },
    errors: ['RATE_LIMITED'],
    async handle({ deps, reach, params, body }) {
      const source =
        (await findSource(deps.db, reach, params.id)) ?? refuseMissing('src', params.id)
      const taken = deps.signatureTests.take(source.id, deps.clock.now())
      if (taken !== undefined) {
        refuse('RATE_LIMITED', 'Too many signature tests of this source', taken)
      }
      const nowMs = body.now ?? deps.clock.now()
      const { current, previous, members } = openSourceSecrets(deps.keyring, source)
      const isOverlap = (source.previousSecretExpiresAt?.getTime() ?? 0) > deps.clock.now()
      const slots = { current, members, previous: isOverlap ? previous : undefined }
      const compiled = compileVerifier(source.verifier, slots)
      const url = body.url ?? `${deps.ingestUrl}/${source.maskId}`
      const keys = { store: deps.keys, holder: await deps.shares.of(source.organisationId) }
      const verdict = await verifyWithKeys(compiled, requestOf(body, url), nowMs, keys)
      return {
        status: 200,
        body: {
          valid: verdict.kind === 'valid',
          reason: verdict.kind === 'rejected' ? verdict.reason : null,
          detail: verdict.kind === 'rejected' ? (verdict.detail ?? null) : null,
          verifiedWith: compiled.verifiedWith,
          secret: verdict.kind === 'valid' ? verdict.slot : null,
        },
      }
    },
  }),
]

function requestOf(body: z.output<typeof TestSignature>, text: string): SignedRequest {
  const url = new URL(text)
  const pairs = Object.entries(body.headers).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, toBinary(one)]),
  )
  return {
    method: body.method,
    url: text,
    path: url.pathname,
    query: url.search.slice(1),
    headers: joinHeaders(pairs),
    rawHeaders: pairs,
    body:
      body.bodyBase64 === undefined
        ? Buffer.from(body.body ?? '')
        : Buffer.from(body.bodyBase64, 'base64'),
    remoteIp: '',
  }
}
