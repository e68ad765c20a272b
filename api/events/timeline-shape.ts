import { z } from 'zod'

import { ACTIONS, CAUSES } from '../../core/verdict/facts.ts'
import { DeliveryWithAttempts } from '../deliveries/attempt-shape.ts'
import { Id, Timestamp } from '../http/fields.ts'

const Verdict = z
  .object({
    cause: z.enum(CAUSES).describe('Why the event was or was not delivered.'),
    sentence: z.string().describe('The verdict as a sentence for people.'),
    since: Timestamp.describe('Since when the cause holds.'),
    nextAt: Timestamp.nullable().describe('When something happens next; null when nothing does.'),
    action: z
      .enum(ACTIONS)
      .nullable()
      .describe('An action that helps; null when there is nothing to do.'),
  })
  .meta({ id: 'Verdict', description: 'Says what became of an event, and why.' })

const Phase = z
  .object({
    name: z
      .enum(['received', 'verified', 'stored', 'matched', 'dispatched'])
      .describe('The step of ingest, in the order in which they are taken.'),
    at: Timestamp.describe('When it happened.'),
    durationMs: z
      .number()
      .nullable()
      .describe('How long it took, in milliseconds; null where that is not measured.'),
  })
  .meta({ id: 'TimelinePhase', description: 'A step of an event through Postern.' })

const OUTCOMES = ['delivered_to', 'filtered', 'disabled'] as const

const ShownOutcome = z
  .object({
    connectionId: Id('con').describe('The connection from the source of the event.'),
    outcome: z
      .enum(OUTCOMES)
      .describe('It got a delivery, its filter excluded the event, or it was disabled.'),
    failedPart: z
      .string()
      .optional()
      .describe('The part of the filter that excluded the event; absent otherwise.'),
  })
  .meta({ id: 'TimelineConnection', description: 'How a connection treated an event.' })

/** (decisions: Statistics and stream, "timeline") */
export const Timeline = z
  .object({
    verdict: Verdict,
    phases: z.array(Phase).describe('The steps that it took, in order.'),
    connections: z.array(ShownOutcome).describe('The connections of its source.'),
    deliveries: z
      .array(DeliveryWithAttempts)
      .describe('Its newest deliveries, at most 100, each with its attempts.'),
  })
  .meta({ id: 'Timeline', description: 'The journey of an event, with every attempt.' })

/** The result of matching one connection, as ingest stores it. */
export const Outcomes = z.array(
  z.object({
    connectionId: z.string(),
    outcome: z.enum(OUTCOMES),
    failedPart: z.string().optional(),
  }),
)

export type Outcome = z.infer<typeof Outcomes>[number]
