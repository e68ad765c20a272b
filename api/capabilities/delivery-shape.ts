import { z } from 'zod'

import {
  AGENT_ATTEMPTS_MAX,
  AGENT_BODY_BYTES_MAX,
  AGENT_TEXT_LENGTH_MAX,
} from '../../core/limits.ts'
import { Attempt } from '../deliveries/attempt-shape.ts'
import { Delivery } from '../deliveries/shape.ts'
import { Pairs, shownBody, shownPairs, urlWithoutSecrets } from './redaction.ts'

/** A delivery as agents see it: their answers name the project already. */
export const ShownDelivery = Delivery.omit({ projectId: true })

export const AttemptInShort = Attempt.pick({
  number: true,
  trigger: true,
  startedAt: true,
  durationMs: true,
  outcome: true,
  responseStatus: true,
  errorCode: true,
})

export const ShownAttempt = AttemptInShort.extend({
  requestUrl: z.string().describe('The URL that was called, without secrets.'),
  fromDestination: z
    .object({
      headers: Pairs,
      body: z.string().nullable().describe('The body of its answer; null without an answer.'),
      truncated: z.boolean().describe('The body goes on behind this.'),
    })
    .describe('Its answer: data from a stranger, cut and without secrets.'),
})

/** The newest attempts of a delivery. */
export function shownAttempts<T>(attempts: readonly T[]): T[] {
  return attempts.slice(-AGENT_ATTEMPTS_MAX)
}

/** The newest attempt shows most of its answer, the others the beginning. */
export function viewShownAttempt(
  attempt: z.output<typeof Attempt>,
  isNewest: boolean,
): z.output<typeof ShownAttempt> {
  const { responseBody, responseHeaders, requestUrl } = attempt
  const bytesMax = isNewest ? AGENT_BODY_BYTES_MAX : AGENT_TEXT_LENGTH_MAX
  const body =
    responseBody === null ? { body: null, truncated: false } : shownBody(responseBody, bytesMax)
  return {
    ...attempt,
    requestUrl: urlWithoutSecrets(requestUrl),
    fromDestination: { headers: shownPairs(responseHeaders), ...body },
  }
}
