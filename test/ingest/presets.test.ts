import { readFileSync } from 'node:fs'

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { newMaskId } from '../../core/keys/mask-id.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import { PRESETS } from '../../core/verify/presets/presets.ts'
import { startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

const Request = z.object({
  method: z.literal('POST'),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

const Vector = z.object({
  preset: z.string(),
  verifier: z.record(z.string(), z.unknown()),
  keys: z.unknown().optional(),
  now: z.int(),
  events: z.array(
    z.object({
      eventType: z.string().nullable(),
      request: Request,
      retry: Request.optional(),
    }),
  ),
})

const FILE = new URL('../vectors/events.json', import.meta.url)
/** Keys are got from the providers themselves, which no test reaches. */
const VECTORS = z
  .array(Vector)
  .parse(JSON.parse(readFileSync(FILE, 'utf8')))
  .filter(({ keys }) => keys === undefined)

let relay: Relay
beforeAll(async () => {
  relay = await startRelay({ ingestUrl: 'https://in.example.test', worker: false })
})
afterAll(async () => await relay[Symbol.asyncDispose]())

/** The address that the vectors are sent to. */
const MASK_ID = 'k7w2m4x6p3q5r8t9v1y3z5b7c9'

test.each(VECTORS)(
  '$preset: two events are kept with their types, and a retry of each is a duplicate',
  async ({ preset, verifier, now, events }) => {
    await relay.advance(now * 1000 - relay.clock.now())
    const idempotencyKeys = PRESETS.get(preset)?.idempotencyKeys ?? []
    const source = await relay.make('sources', {
      verifier: { preset, ...verifier },
      idempotencyKeys,
    })
    await moveHere(source)
    const status = source['ingestResponse'].status ?? 200
    const requests = events.map(({ request }) => request)
    const retries = events.flatMap(({ retry }) => retry ?? [])
    expect(await whichAreKept(requests, status)).toEqual(requests.map(() => true))
    const isRepeated = idempotencyKeys.length === 0
    expect(await whichAreKept(retries, status)).toEqual(retries.map(() => isRepeated))
    const { rows } = await sql<{ eventType: string | null }>`
      select event_type as "eventType" from event where source_id = ${uuid('src', source.id)}
      order by id limit 2`.execute(relay.db)
    expect(rows).toEqual(events.map(({ eventType }) => ({ eventType })))
  },
)

/** Whether each is an event of its own; one that is rejected fails the test. */
async function whichAreKept(
  requests: readonly z.infer<typeof Request>[],
  status: number,
): Promise<boolean[]> {
  const kept: boolean[] = []
  for (const { method, url, headers, body } of requests) {
    const path = url.slice(url.indexOf(MASK_ID) + MASK_ID.length)
    const heard = await relay.send({ maskId: MASK_ID }, { method, headers, body, path })
    expect(heard.status, heard.text).toBe(status)
    kept.push(heard.headers['postern-event-id'] !== undefined)
  }
  return kept
}

/** Signatures that cover the URL are made for one address: the source before gives it up. */
async function moveHere({ id }: Resource): Promise<void> {
  const before = await sql<{ id: string }>`
    update source set mask_id = ${newMaskId()} where mask_id = ${MASK_ID} returning id`.execute(
    relay.db,
  )
  await sql`update source set mask_id = ${MASK_ID} where id = ${uuid('src', id)}`.execute(relay.db)
  const ids = [...before.rows.map((row) => row.id), uuid('src', id)]
  await announceChanges(
    relay,
    ids.map((changed) => ({ kind: 'source', id: changed })),
  )
}
