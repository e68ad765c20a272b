import { z } from 'zod'

import type { Need } from '../../keys/permissions.ts'

export const OPERATION_KINDS = ['retry', 'replay', 'cancel'] as const

export type OperationKind = (typeof OPERATION_KINDS)[number]

export const OPERATION_STATUSES = ['running', 'completed', 'cancelled'] as const

export type OperationStatus = (typeof OPERATION_STATUSES)[number]

/** The permission to create an operation of a kind. (decisions: Rotation, keys, roles) */
export const OPERATION_NEEDS: Readonly<Record<OperationKind, Need>> = {
  retry: { resource: 'deliveries', level: 'write' },
  replay: { resource: 'events', level: 'write' },
  cancel: { resource: 'deliveries', level: 'write', isExplicit: true },
}

const uuid = z.guid().optional()
const ms = z.number().int()

/**
 * The filter of an operation as its row stores it: ids are uuids, times milliseconds since the epoch, both included.
 * `toMs` is fixed when the operation is made, so that it ends.
 */
export const DeliverySelection = z.strictObject({
  status: z.string().optional(),
  eventId: uuid,
  connectionId: uuid,
  destinationId: uuid,
  sourceId: uuid,
  errorCode: z.string().optional(),
  responseStatus: z.number().int().optional(),
  /** The first digit of the response status. */
  responseClass: z.number().int().optional(),
  fromMs: ms.optional(),
  toMs: ms,
})

export type DeliverySelection = z.infer<typeof DeliverySelection>

export const EventSelection = z.strictObject({
  status: z.string().optional(),
  sourceId: uuid,
  eventType: z.string().optional(),
  search: z.string().optional(),
  fromMs: ms.optional(),
  toMs: ms,
})

export type EventSelection = z.infer<typeof EventSelection>

/** The filter of an operation, by its kind. */
export type Selected = SelectedDeliveries | SelectedEvents

export interface SelectedDeliveries {
  kind: 'retry' | 'cancel'
  selection: DeliverySelection
}

export interface SelectedEvents {
  kind: 'replay'
  selection: EventSelection
}

/** As a row holds it. */
export function selectedOf(kind: OperationKind, selection: unknown): Selected {
  return kind === 'replay'
    ? { kind, selection: EventSelection.parse(selection) }
    : { kind, selection: DeliverySelection.parse(selection) }
}
