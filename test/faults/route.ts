import { z } from 'zod'

import { decodeId } from '../../core/ids.ts'
import {
  openDestination,
  type DestinationOptions,
  type RecordingDestination,
} from './destination.ts'
import type { Sent } from './load.ts'
import type { Relay } from './relay.ts'

const SECRET = 'a secret of the fault tests'
/** Ids in one statement. */
const IDS_MAX = 10_000
const Made = z.object({ id: z.string() })
const Identified = z.object({ id: z.string() })
const Counted = z.object({ count: z.number() })
const Source = Made.extend({ ingestUrl: z.string() })

/** A source, a connection and a destination that records, made for one test. */
export interface Route extends AsyncDisposable {
  ingestUrl: string
  secret: string
  sourceId: string
  destination: RecordingDestination
}

export interface RouteOptions extends DestinationOptions {
  /** Members beside those that every source and destination here has. */
  source?: object
  destination?: object
}

export async function openRoute(
  relay: Pick<Relay, 'api'>,
  name: string,
  options: RouteOptions = {},
): Promise<Route> {
  const destination = await openDestination(options)
  const source = Source.parse(
    await relay.api('POST', '/v1/sources', {
      name,
      verifier: { preset: 'github', secret: SECRET },
      eventTypeField: 'body.type',
      ...options.source,
    }),
  )
  const { id } = Made.parse(
    await relay.api('POST', '/v1/destinations', {
      name,
      url: destination.url,
      ...options.destination,
    }),
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

/** Stored events of the source that are not `received` with a `succeeded` delivery. The first few will do. */
export async function unsettled(
  relay: Pick<Relay, 'query'>,
  { sourceId }: Route,
): Promise<unknown[]> {
  return await relay.query(
    `select e.id, e.status as event, d.status as delivery from event e
    left join delivery d on d.class = e.class and d.event_id = e.id
    where e.source_id = $1::uuid and (e.status <> 'received' or d.status is distinct from 'succeeded') limit 5`,
    [decodeId('src', sourceId)],
  )
}

/** Numbers that were answered with an event id and whose event is not in PostgreSQL. */
export async function missing(
  relay: Pick<Relay, 'query'>,
  sent: readonly Sent[],
): Promise<number[]> {
  const numbers = new Map(
    sent.flatMap(({ number, answer }): [string, number][] =>
      answer.kind === 'accepted' ? [[decodeId('evt', answer.eventId) ?? '', number]] : [],
    ),
  )
  const found: number[] = []
  for (let from = 0; from < numbers.size; from += IDS_MAX) {
    const rows = await relay.query(
      `select t.id from unnest($1::uuid[]) as t (id) where not exists (select from event e where e.id = t.id)`,
      [[...numbers.keys()].slice(from, from + IDS_MAX)],
    )
    found.push(...rows.map((row) => numbers.get(Identified.parse(row).id) ?? Number.NaN))
  }
  return found
}

/** Events of the source in PostgreSQL. */
export async function stored(relay: Pick<Relay, 'query'>, { sourceId }: Route): Promise<number> {
  const [row] = await relay.query(
    `select count(*)::int4 as count from event where source_id = $1::uuid`,
    [decodeId('src', sourceId)],
  )
  return Counted.parse(row).count
}
