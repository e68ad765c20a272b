import { expect } from 'vitest'
import { z } from 'zod'

import { decodeId } from '../../core/ids.ts'
import { accountOf, printAccount, type Account } from './account.ts'
import { openDestination, type RecordingDestination } from './destination.ts'
import type { Sent } from './load.ts'
import type { Relay } from './relay.ts'
import { until } from './until.ts'

const SECRET = 'a secret of the fault tests'
/** Longer than the lease and the sweep behind it: 15 s, 5 s and 1 s. */
const SETTLED_MS = 60_000
const Made = z.object({ id: z.string() })
const Source = Made.extend({ ingestUrl: z.string() })

/** A source, a connection and a destination that records, made for one test. */
export interface Route extends AsyncDisposable {
  ingestUrl: string
  secret: string
  sourceId: string
  destination: RecordingDestination
}

export async function openRoute(relay: Relay, name: string): Promise<Route> {
  const destination = await openDestination()
  const source = Source.parse(
    await relay.api('POST', '/v1/sources', {
      name,
      verifier: { preset: 'github', secret: SECRET },
      eventTypeField: 'body.type',
    }),
  )
  const { id } = Made.parse(
    await relay.api('POST', '/v1/destinations', { name, url: destination.url }),
  )
  await relay.api('POST', '/v1/connections', { name, sourceId: source.id, destinationId: id })
  return {
    ingestUrl: source.ingestUrl,
    secret: SECRET,
    sourceId: source.id,
    destination,
    [Symbol.asyncDispose]: async () => await destination[Symbol.asyncDispose](),
  }
}

/**
 * Waits until all that was accepted is delivered and recorded, prints the account, and asserts what holds after every
 * fault: nothing accepted is lost, and every arrival of an event carries the same `webhook-id`.
 */
export async function settle(
  name: string,
  relay: Relay,
  { route, sent }: { route: Route; sent: readonly Sent[] },
): Promise<Account> {
  const { arrivals } = route.destination
  const accepted = sent.filter(({ answer }) => answer.kind === 'accepted')
  const isDelivered = (): boolean => accepted.every(({ number }) => arrivals.has(number))
  await until(`${name}: all is delivered`, isDelivered, SETTLED_MS).catch(() => {})
  const isRecorded = async (): Promise<boolean> => (await unsettled(relay, route)).length === 0
  await until(`${name}: all is recorded`, isRecorded, SETTLED_MS).catch(() => {})

  const account = accountOf(sent, arrivals)
  printAccount(name, account)
  expect(account).toMatchObject({ lost: 0 })
  expect(await unsettled(relay, route)).toEqual([])
  expect(await missing(relay, sent)).toEqual([])
  const ids = [...arrivals.values()].map((same) => new Set(same.map((one) => one.webhookId)).size)
  expect(Math.max(...ids)).toBe(1)
  return account
}

/** Stored events of the source that are not `received` with a `succeeded` delivery. The first few will do. */
async function unsettled(relay: Relay, { sourceId }: Route): Promise<unknown[]> {
  return await relay.query(
    `select e.id, e.status as event, d.status as delivery from event e
    left join delivery d on d.class = e.class and d.event_id = e.id
    where e.source_id = $1::uuid and (e.status <> 'received' or d.status is distinct from 'succeeded') limit 5`,
    [decodeId('src', sourceId)],
  )
}

/** Event ids that were answered with a 200 and are not in PostgreSQL. */
async function missing(relay: Relay, sent: readonly Sent[]): Promise<unknown[]> {
  const ids = sent.flatMap(({ answer }) =>
    answer.kind === 'accepted' ? [decodeId('evt', answer.eventId)] : [],
  )
  return await relay.query(
    `select t.id from unnest($1::uuid[]) as t (id) where not exists (select from event e where e.id = t.id) limit 5`,
    [ids],
  )
}
