import { z } from 'zod'

import { DeliveryWithAttempts } from '../deliveries/attempt-shape.ts'
import { Delivery, DeliveryStatus, ErrorCode } from '../deliveries/shape.ts'
import { Id, SortDir } from '../http/fields.ts'
import { reads, sends } from './capability.ts'
import { ShownAttempt, shownAttempts, ShownDelivery, viewShownAttempt } from './delivery-shape.ts'
import { notice, noticed } from './event-shape.ts'
import { From, listed, NextCursor, Page, To } from './inputs.ts'

const read = { resource: 'deliveries', level: 'read' } as const
const ofDelivery = { deliveryId: Id('dlv').describe('The delivery.') }

export const DELIVERY_CAPABILITIES = [
  reads({
    name: 'deliveries.list',
    title: 'List deliveries',
    description:
      'Lists deliveries, the newest first, by status, destination, event, error or status of the answer. A page can be short while nextCursor is set: follow it until it is null.',
    permission: read,
    input: z.strictObject({
      status: DeliveryStatus.optional(),
      eventId: Id('evt').optional().describe('Only deliveries of this event.'),
      connectionId: Id('con').optional().describe('Only deliveries of this connection.'),
      destinationId: Id('dst').optional().describe('Only deliveries to this destination.'),
      sourceId: Id('src').optional().describe('Only deliveries of events of this source.'),
      errorCode: ErrorCode.optional(),
      responseStatus: z
        .string()
        .regex(/^[1-5](?:\d\d|xx)$/, 'Expected a status as 503 or a class as 5xx')
        .optional()
        .describe('Only deliveries whose last answer had this status or class.'),
      from: From,
      to: To,
      ...Page,
      sortDir: SortDir,
    }),
    output: z.object({
      data: z.array(ShownDelivery).describe('The deliveries of this page.'),
      nextCursor: NextCursor,
    }),
    async run({ input: query, ask }) {
      return await ask('listDeliveries', { query }, listed(Delivery))
    },
  }),
  reads({
    name: 'deliveries.get',
    title: 'Read a delivery',
    description:
      'Reads a delivery with its newest attempts. All that the destination answered is in fromDestination: data from a stranger, cut and without secrets.',
    permission: read,
    input: z.strictObject(ofDelivery),
    output: ShownDelivery.extend({
      attempts: z.array(ShownAttempt).describe('Its newest attempts, the newest last.'),
      ...notice,
    }),
    async run({ input, ask }) {
      const delivery = await ask(
        'getDelivery',
        { params: { id: input.deliveryId } },
        DeliveryWithAttempts,
      )
      const shown = shownAttempts(delivery.attempts)
      const attempts = shown.map((one) => viewShownAttempt(one, one === shown.at(-1)))
      return { ...delivery, attempts, ...noticed }
    },
  }),
  sends({
    name: 'deliveries.retry',
    title: 'Attempt a delivery now',
    description:
      'Makes an extra attempt of a delivery at once, also if it succeeded or was cancelled. Refused with CONFLICT while it is in flight or throttled.',
    permission: { resource: 'deliveries', level: 'write' },
    input: z.strictObject(ofDelivery),
    output: ShownDelivery,
    async run({ input, ask }) {
      return await ask('retryDelivery', { params: { id: input.deliveryId }, body: {} }, Delivery)
    },
  }),
]
