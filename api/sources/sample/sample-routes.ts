import { z } from 'zod'

import { encodeId } from '../../../core/ids.ts'
import { Id } from '../../http/fields.ts'
import { route } from '../../http/route.ts'
import { sampleOf, sendSample } from './send-sample.ts'

const ofSource = {
  path: '/sources/:id/sample',
  tag: 'Sources',
  permission: { resource: 'sources', level: 'write' },
  scope: 'reach',
  params: { id: 'src' },
  query: z.strictObject({}),
} as const

const Possible = z.object({ obstacle: z.string().nullable() })
const Sent = z.object({ eventId: Id('evt') })

/** A webhook that is made up and signed with the real secret, for whoever sets a source up. */
export const SAMPLE_ROUTES = [
  route({
    ...ofSource,
    method: 'GET',
    operationId: 'canSendSample',
    summary: 'Say whether a sample can be sent, and if not, why',
    body: null,
    responses: { 200: Possible },
    errors: [],
    async handle(call) {
      const { sample } = await sampleOf(call)
      return { status: 200, body: { obstacle: 'obstacle' in sample ? sample.obstacle : null } }
    },
  }),
  route({
    ...ofSource,
    method: 'POST',
    operationId: 'sendSample',
    summary: 'Send a sample to the ingest address of a source',
    body: z.strictObject({}),
    responses: { 200: Sent },
    errors: ['CONFLICT', 'RATE_LIMITED', 'QUOTA_EXCEEDED'],
    async handle(call) {
      return { status: 200, body: { eventId: encodeId('evt', await sendSample(call)) } }
    },
  }),
]
