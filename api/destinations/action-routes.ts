import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { findDestination } from '../../core/db/configuration/destinations.ts'
import { encodeId } from '../../core/ids.ts'
import {
  OVERLAP_SECONDS_DEFAULT,
  OVERLAP_SECONDS_MAX,
  TEST_BODY_BYTES_MAX,
} from '../../core/limits.ts'
import { Attempt } from '../deliveries/attempt-shape.ts'
import { refuseMissing } from '../http/failure.ts'
import { Id, Timestamp } from '../http/fields.ts'
import { route, type Call } from '../http/route.ts'
import { note, writeResource } from '../writes/write-resource.ts'
import { DESTINATION } from './resource.ts'
import { Headers } from './shape.ts'
import { rotateSigningSecret, signingSecrets } from './signing-secret.ts'
import { sendTest } from './test-delivery.ts'

const tag = 'Destinations'
const write = { resource: 'destinations', level: 'write' } as const
const noQuery = z.strictObject({})

const PreviousSecret = z
  .object({
    secret: z
      .string()
      .describe('The secret before the rotation, `whsec_…`; deliveries are signed with both.'),
    expiresAt: Timestamp.describe('Until when deliveries are signed with it too.'),
  })
  .meta({ id: 'PreviousSigningSecret', description: 'A signing secret that is about to end.' })

export const SigningSecret = z
  .object({
    secret: z.string().describe('The secret that deliveries are signed with, `whsec_…`.'),
    previous: PreviousSecret.nullable().describe('Null when no rotation is under way.'),
  })
  .meta({ id: 'SigningSecret', description: 'The signing secret of a destination.' })

export const SigningSecretRotation = z
  .strictObject({
    force: z.boolean().default(false).describe('Displace a previous secret that still signs.'),
    overlapSeconds: z
      .int()
      .min(0)
      .max(OVERLAP_SECONDS_MAX)
      .default(OVERLAP_SECONDS_DEFAULT)
      .describe('How long deliveries are signed with the previous secret too.'),
  })
  .meta({ id: 'SigningSecretRotation', description: 'How to rotate a signing secret.' })

export const RotatedSigningSecret = z
  .object({
    secret: z.string().describe('The new signing secret, `whsec_…`.'),
    previousExpiresAt: Timestamp.describe('Until when the previous one signs too.'),
  })
  .meta({ id: 'RotatedSigningSecret', description: 'The new signing secret of a destination.' })

/** The body of a test delivery whose request names none. */
const TEST_BODY = { type: 'postern.test', message: 'A test delivery' }

const TestInput = z
  .strictObject({
    body: z.unknown().default(TEST_BODY).transform(textOf).meta({
      description: 'The body: a text is sent as it is, any other value as JSON.',
    }),
    headers: Headers.default({})
      .transform(withContentType)
      .describe('Headers to send besides those of the destination.'),
  })
  .refine(({ body }) => Buffer.byteLength(body) <= TEST_BODY_BYTES_MAX, {
    path: ['body'],
    message: `Expected at most ${TEST_BODY_BYTES_MAX} bytes`,
  })
  .meta({ id: 'TestDeliveryCreate', description: 'The test delivery to send.' })

const TestDelivery = z
  .object({
    deliveryId: Id('dlv').describe('Finds it under `GET /v1/deliveries/{id}`.'),
    attempt: Attempt,
  })
  .meta({ id: 'TestDelivery', description: 'A test delivery and its one attempt.' })

export const DESTINATION_ACTION_ROUTES = [
  route({
    method: 'GET',
    path: '/destinations/:id/signing-secret',
    operationId: 'getSigningSecret',
    tag,
    summary: 'Reveal the signing secret of a destination',
    description: 'During a rotation overlap deliveries are signed with both secrets.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    isSecret: true,
    params: { id: 'dst' },
    query: noQuery,
    body: null,
    responses: { 200: SigningSecret },
    errors: [],
    async handle(call) {
      return { status: 200, body: await revealSecret(call) }
    },
  }),
  route({
    method: 'POST',
    path: '/destinations/:id/rotate-signing-secret',
    operationId: 'rotateSigningSecret',
    tag,
    summary: 'Give a destination another signing secret',
    description:
      'The next delivery is signed with both, and with the new one alone from `previousExpiresAt` on. During an overlap `force` displaces the previous secret.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    isSecret: true,
    params: { id: 'dst' },
    query: noQuery,
    body: SigningSecretRotation,
    responses: { 200: RotatedSigningSecret },
    errors: ['ROTATION_OVERLAP_ACTIVE'],
    async handle(call) {
      return { status: 200, body: await rotateSecret(call) }
    },
  }),
  route({
    method: 'POST',
    path: '/destinations/:id/test-delivery',
    operationId: 'testDelivery',
    tag,
    summary: 'Send a test delivery',
    description:
      'Makes one attempt, signed and authenticated like every other. It counts in no quota, pacing or statistics, and is never retried. A disabled destination can be tested.',
    permission: write,
    scope: 'reach',
    params: { id: 'dst' },
    query: noQuery,
    body: TestInput,
    responses: { 200: TestDelivery },
    errors: ['DESTINATION_NOT_PUBLIC'],
    async handle(call) {
      const { deliveryId, attempt } = await sendTest(call, call.body)
      return { status: 200, body: { deliveryId: encodeId('dlv', deliveryId), attempt } }
    },
  }),
]

/** With its audit row. */
export async function revealSecret(
  call: Call<{ id: string }>,
): Promise<z.input<typeof SigningSecret>> {
  const { deps, reach, params } = call
  const destination = await deps.db.transaction().execute(async (tx) => {
    const found = (await findDestination(tx, reach, params.id)) ?? refuseMissing('dst', params.id)
    await note(tx, call, DESTINATION, { verb: 'reveal-signing-secret', row: found, shown: {} })
    return found
  })
  const now = new Date(deps.clock.now())
  const { secret, previous } = signingSecrets(deps.keyring, destination, now)
  return {
    secret,
    previous: previous && {
      secret: previous.secret,
      expiresAt: timestamp(previous.expiresAt.getTime()),
    },
  }
}

export async function rotateSecret(
  call: Call<{ id: string }, unknown, z.output<typeof SigningSecretRotation>>,
): Promise<z.input<typeof RotatedSigningSecret>> {
  const { force, overlapSeconds } = call.body
  const verb = 'rotate-signing-secret'
  const rotated = await writeResource(call, DESTINATION, { verb }, (found, now) => ({
    ...rotateSigningSecret(call.deps.keyring, found, { force, overlapSeconds }, now),
    shown: { overlapSeconds, force },
  }))
  const { secret, previousExpiresAt } = rotated
  return { secret, previousExpiresAt: timestamp(previousExpiresAt.getTime()) }
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** Said once, in whatever letters. */
function withContentType(headers: Record<string, string>): Record<string, string> {
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  return isGiven ? headers : { 'content-type': 'application/json', ...headers }
}
