import { z } from 'zod'

import { ACTIONS, CAUSES } from '../../core/verdict/explain.ts'
import { Id, Timestamp } from '../fields.ts'
import { Attempt } from './attempt.ts'
import { Delivery } from './delivery.ts'

/** (decisions: Statistics and stream, "timeline") */
export const Timeline = z
  .object({
    verdict: z.object({
      cause: z.enum(CAUSES),
      sentence: z.string(),
      since: Timestamp,
      nextAt: Timestamp.nullable(),
      action: z.enum(ACTIONS).nullable(),
    }),
    phases: z.array(
      z.object({
        name: z.enum(['received', 'verified', 'stored', 'matched', 'dispatched']),
        at: Timestamp,
        durationMs: z.number().nullable(),
      }),
    ),
    connections: z.array(
      z.object({
        connectionId: Id('con'),
        outcome: z.enum(['delivered_to', 'filtered', 'disabled']),
        failedPart: z.string().optional(),
      }),
    ),
    deliveries: z.array(Delivery.extend({ attempts: z.array(Attempt) })),
  })
  .meta({ id: 'Timeline' })

/** What matching said of one connection, as ingest stores it. */
export const Outcomes = z.array(
  z.object({
    connectionId: z.string(),
    outcome: z.enum(['delivered_to', 'filtered', 'disabled']),
    failedPart: z.string().optional(),
  }),
)

export type Outcome = z.infer<typeof Outcomes>[number]
