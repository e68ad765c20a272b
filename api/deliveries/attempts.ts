import type { z } from 'zod'

import { sourceNames } from '../../core/db/configuration/sources.ts'
import { attemptsOf, type Attempt as Row } from '../../core/db/deliveries/read/attempts.ts'
import type { Delivery } from '../../core/db/deliveries/read/deliveries.ts'
import { eventHeads } from '../../core/db/events/events.ts'
import { deliveryHeaders, MASKED_VALUE } from '../../core/delivery/delivery-headers.ts'
import { parseHeaders } from '../../core/delivery/delivery-headers.ts'
import { encodeId } from '../../core/ids.ts'
import { giveWay } from '../../core/loop/turn.ts'
import { decodeText } from '../../core/request/text.ts'
import type { Deps } from '../deps.ts'
import { viewAttempt, type Attempt } from './attempt-shape.ts'

/** Attempts of one delivery that are shown: more than any policy makes, fewer than a person can make by hand. */
const SHOWN_ATTEMPTS = 100

export interface SentDelivery {
  row: Delivery
  attempts: { row: Row; shown: z.output<typeof Attempt> }[]
}

/** Returns the deliveries with their attempts, and rebuilds the request headers of each. */
export async function attemptsWithHeaders(
  { db }: Pick<Deps, 'db'>,
  deliveries: readonly Delivery[],
): Promise<SentDelivery[]> {
  const eventIds = new Set(deliveries.map(({ eventId }) => eventId).filter((id) => id !== null))
  const sourceIds = new Set(deliveries.map(({ sourceId }) => sourceId).filter((id) => id !== null))
  const [attempts, events, names] = await Promise.all([
    attemptsOf(db, deliveries, SHOWN_ATTEMPTS),
    eventHeads(db, [...eventIds]),
    sourceNames(db, [...sourceIds]),
  ])
  const sent: SentDelivery[] = []
  for (const row of deliveries) {
    const event = events.get(row.eventId ?? '')
    const sourceName = names.get(row.sourceId ?? '') ?? null
    const shown: SentDelivery['attempts'] = []
    for (const attempt of attempts.get(row.id) ?? []) {
      await giveWay()
      const headers = headersOf(row, attempt, { event, sourceName })
      shown.push({ row: attempt, shown: viewAttempt(attempt, headers) })
    }
    sent.push({ row, attempts: shown })
  }
  return sent
}

type Heads = Awaited<ReturnType<typeof eventHeads>>

function headersOf(
  delivery: Delivery,
  attempt: Row,
  from: { event: ReturnType<Heads['get']>; sourceName: string | null },
): [string, string][] {
  const { event, sourceName } = from
  const received = parseHeaders(event?.headers ?? attempt.givenHeaders ?? '[]')
  const facts = {
    deliveryId: encodeId('dlv', delivery.id),
    eventId: delivery.eventId === null ? null : encodeId('evt', delivery.eventId),
    connectionId: delivery.connectionId === null ? null : encodeId('con', delivery.connectionId),
    attempt: attempt.number,
    attemptTrigger: attempt.trigger,
    sourceName,
    verifiedWith: event?.verifiedWith ?? null,
    remoteIp: event?.remoteIp || null,
    timestampSeconds: Math.floor(attempt.startedAt.getTime() / 1000),
    signature: attempt.signature,
  }
  const flat = deliveryHeaders(received, facts, ownHeaders(attempt))
  return Array.from({ length: flat.length / 2 }, (_, n) => [
    flat[2 * n] ?? '',
    decodeText(flat[2 * n + 1] ?? ''),
  ])
}

/** The destination's own headers at that time: names are kept, values are secrets. */
function ownHeaders({ headerNames }: Row): [string, string][] {
  const names: unknown = headerNames === null ? [] : JSON.parse(headerNames)
  return Array.isArray(names) ? names.map((name) => [String(name), MASKED_VALUE]) : []
}
