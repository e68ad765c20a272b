import { createHash } from 'node:crypto'

import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { newId } from '../../core/ids.ts'
import { seedRoute, seedEvent, uuid, type SeededRoute } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
let shop: SeededRoute
beforeAll(async () => {
  world = await startWorld()
  shop = await seedRoute(world, 'shop')
})
afterAll(async () => await world[Symbol.asyncDispose]())

interface List {
  data: { id: string }[]
  nextCursor: string | null
  truncated: boolean
  searchedThrough: string
}

async function search(term: string, filters = ''): Promise<List> {
  const answer = await world.api('GET', `/v1/events?search=${encodeURIComponent(term)}${filters}`)
  expect(answer.body, term).toMatchObject({ data: expect.any(Array) })
  return answer.body
}

async function found(term: string, filters = ''): Promise<string[]> {
  return (await search(term, filters)).data.map(({ id }) => id)
}

/** Every page of a search, in order. */
async function everything(term: string, filters: string): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: List = await search(term, `${filters}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor
  }
  return ids
}

test('wildcards, backslashes and letters beyond ASCII are looked for as they are', async () => {
  const raws = ['50%', '50x', 'a_b', 'axb', String.raw`c\d`, 'cd', 'ÄPFEL und ωμέγα', "it's"]
  const ids: string[] = []
  for (const raw of raws) ids.push(await seedEvent(world, { ...shop, eventType: null, raw }))
  const expected: [string, number[]][] = [
    ['50%', [0]],
    ['a_b', [2]],
    [String.raw`c\d`, [4]],
    [String.raw`C\D`, [4]],
    ['äpfel', [6]],
    ['ΩΜΈΓΑ', [6]],
    ["IT'S", [7]],
    ['%%', []],
    ['\\%', []],
  ]
  for (const [term, indexes] of expected) {
    expect(await found(term), term).toEqual(indexes.map((index) => ids[index]))
  }
})

const WRITTEN: [body: string, found: string[], missed: string[]][] = [
  [String.raw`{"name":"kaf\u00e9"}`, ['kafé', 'KAFÉ', 'fé', String.raw`\u00e9`], ['kafe']],
  [String.raw`{"name":"\u006bAF\u00C9 au lait"}`, ['kafé au', 'k', 'É AU L'], ['\\É']],
  [String.raw`{"url":"https:\/\/shop.example\/order"}`, ['https://shop', '/order'], ['//order']],
  [String.raw`{"text":"say \"hello\", twice"}`, ['say "hello", t', '"hello"'], ['hello twice']],
  [
    String.raw`{"text":"first line\nsecond\tone"}`,
    ['line\nsecond\tone', '\nsecond'],
    ['line second'],
  ],
  [
    String.raw`{"text":"party \ud83c\udf89 time"}`,
    ['\u{1f389}', 'party \u{1f389} t'],
    ['\u{1f388}'],
  ],
  [String.raw`{"path":"C:\\temp\\new"}`, [String.raw`C:\temp\new`, String.raw`\new`], ['temp\new']],
  // A backslash that is escaped itself begins no escape.
  [String.raw`{"text":"rated\\u00e8"}`, [String.raw`rated\u00e8`], ['è']],
  [
    String.raw`{"html":"\u003cb\u003eTom \u0026 Jerry\u003c\/b\u003e"}`,
    ['<b>Tom & Jerry</b>'],
    ['tom jerry'],
  ],
  [String.raw`{"\u0131d\u00fcst":1}`, ['ıdüst'], []],
  [String.raw`{"text":"50\u0025 _off_"}`, ['50% _off_'], ['50x']],
]

test.each(WRITTEN)('%s is found by what people read', async (raw, terms, missed) => {
  const id = await seedEvent(world, { ...shop, eventType: null, raw })
  for (const term of terms) expect(await found(term), term).toContain(id)
  for (const term of missed) expect(await found(term), term).not.toContain(id)
})

const FORMS: [body: string, found: string[], missed: string[]][] = [
  ['name=J%C3%BCrgen+M%c3%bcller&x=1', ['jürgen müller', 'Jürgen', 'n m'], ['jurgen']],
  [
    'text=50%25%20off%2C+now%21&u=https%3A%2F%2Fa.example%2Fb',
    ['50% off, now!', '://a.example/b'],
    ['50%%'],
  ],
  ['emoji=%F0%9F%8E%89', ['\u{1f389}'], []],
  ['payload=%7B%22name%22%3A%22kaf%5Cu00e9%5C%2Fbar%22%7D', ['{"name":"kafé/bar"}'], ['kaf/']],
  ['sum=1%2B1', ['1+1'], ['1 1']],
]

test.each(FORMS)('the form %s is found by what people read', async (raw, terms, missed) => {
  const contentType = 'Application/X-WWW-Form-Urlencoded; charset=UTF-8'
  const id = await seedEvent(world, { ...shop, eventType: null, raw, contentType })
  for (const term of terms) expect(await found(term), term).toContain(id)
  for (const term of missed) expect(await found(term), term).not.toContain(id)
})

test('a plus is a space in a form alone', async () => {
  const json = await seedEvent(world, { ...shop, raw: '{"sum":"7+7","url":"a%20b%2Fc"}' })
  expect(await found('7 7')).not.toContain(json)
  expect(await found('7+7')).toContain(json)
  expect(await found('a b/c')).not.toContain(json)
})

test('bodies that are no text are searched for the text in them, NUL or not', async () => {
  const latin = await seedEvent(world, { ...shop, raw: Buffer.from('caf\xe9 \\nul', 'latin1') })
  const nul = await seedEvent(world, { ...shop, raw: Buffer.from('mail\0body') })
  expect(await found('CAF')).toEqual([latin])
  expect(await found('\\NUL')).toEqual([latin])
  expect(await found('MAIL')).toEqual([nul])
})

test('a term of 255 characters is taken, one of 256 and U+0000 are refused', async () => {
  const long = 'z'.repeat(255)
  const id = await seedEvent(world, { ...shop, raw: `"${long}"` })
  expect(await found(long)).toEqual([id])
  for (const term of [`${long}z`, 'a\0b', '']) {
    const answer = await world.api('GET', `/v1/events?search=${encodeURIComponent(term)}`)
    expect(answer.body).toMatchObject({ code: 'BAD_REQUEST' })
  }
})

test('an id is found in any case, by its beginning, and where another body speaks of it', async () => {
  const id = await seedEvent(world, { ...shop, raw: '{}' })
  const speaking = await seedEvent(world, { ...shop, raw: `{"about":"${id}"}` })
  expect(await found(id)).toEqual([speaking, id])
  expect(await found(id.toUpperCase())).toEqual([speaking, id])
  expect(await found(id.slice(0, 25))).toEqual([speaking, id])
  expect(await found(id.slice(4))).toEqual([speaking, id])
  expect(await found(id, '&limit=1')).toEqual([id])
  expect(await everything(id, '&limit=1')).toEqual([id, speaking])
  expect(await found(id, '&status=rejected')).toEqual([])
  const other = await world.createTenant()
  const foreign = await world.api('GET', `/v1/events?search=${id}`, undefined, { key: other.key })
  expect(foreign.body.data).toEqual([])
})

test('pages of a search meet every match once, in both directions', async () => {
  const ids: string[] = []
  for (let n = 0; n < 23; n++) {
    const raw = n % 2 === 0 ? '"needle"' : '"hay"'
    ids.push(await seedEvent(world, { ...shop, raw }))
  }
  const matching = ids.filter((_, index) => index % 2 === 0)
  for (const limit of [1, 4, 100]) {
    expect(await everything('Needle', `&sortDir=asc&limit=${limit}`), `${limit}`).toEqual(matching)
    expect(await everything('Needle', `&limit=${limit}`)).toEqual(matching.toReversed())
  }
  const [first] = (await search('needle', '&limit=1')).data
  const page = await search('needle', '&limit=1')
  expect(first?.id).toBe(matching.at(-1))
  const answer = await world.api('GET', `/v1/events?search=hay&limit=1&cursor=${page.nextCursor}`)
  expect(answer.body).toMatchObject({ code: 'BAD_REQUEST' })
})

test('an ascending search stops before what an open transaction may still bring', async () => {
  const before = await seedEvent(world, { ...shop, raw: '"tidal"' })
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  await client.query('begin')
  const late = newId(world.clock.now())
  await client.query('lock table event in row exclusive mode')
  await client.query('select pg_current_xact_id()')
  world.clock.advance(2)
  const after = await seedEvent(world, { ...shop, raw: '"tidal"' })
  world.clock.advance(2)
  expect(await found('tidal', '&sortDir=asc')).toEqual([before])
  await client.query('rollback')
  await client.end()
  await seedEvent(world, { ...shop, raw: '"tidal"', id: late })
  expect((await found('tidal', '&sortDir=asc')).at(-1)).toBe(after)
})

test('in more than a second can read an id and a key are found at once, and no answer takes over a second', async () => {
  await using own = await startWorld()
  const seeded = await seedRoute(own, 'big')
  const key = createHash('sha256').update('k').digest()
  const start = own.clock.now() - 3_600_000
  const oldest = await seedEvent(own, {
    ...seeded,
    idempotencyKey: key.toString('hex'),
    raw: '"bottom of the sea"',
    atMs: start - 1_000,
  })
  await own.db
    .insertInto('dedupe_key')
    .values({ source_id: uuid('src', seeded.sourceId), key, event_id: uuid('evt', oldest) })
    .execute()
  await fill(own, seeded, start)
  const ask = async (term: string, filters = ''): Promise<List> => {
    const beganAt = performance.now()
    const answer = await own.api('GET', `/v1/events?search=${term}${filters}`)
    expect(performance.now() - beganAt, term).toBeLessThan(1_500)
    return answer.body
  }
  for (const term of [oldest, key.toString('hex').toUpperCase()]) {
    const page = await ask(term)
    expect(page.data.map(({ id }) => id)).toEqual([oldest])
  }
  let page = await ask('bottom%20of')
  expect(page).toMatchObject({ truncated: true, data: [] })
  let searchedThrough = page.searchedThrough
  const ids: string[] = []
  while (page.nextCursor !== null) {
    page = await ask('bottom%20of', `&cursor=${page.nextCursor}`)
    ids.push(...page.data.map(({ id }) => id))
    expect(page.searchedThrough <= searchedThrough).toBe(true)
    searchedThrough = page.searchedThrough
  }
  expect(ids).toEqual([oldest])
}, 90_000)

const EVENTS = 40_000

/** Events of 2 KiB, as many as no search reads in a second. */
async function fill(own: World, seeded: SeededRoute, start: number): Promise<void> {
  const first = newId(start)
  await sql`
    insert into event (class, id, organisation_id, project_id, source_id, status, verified_with, method, path, query,
      headers, size_bytes, is_binary, remote_ip, raw, verified_us, matched_us)
    select 90, (lpad(to_hex(${start}::bigint + n / 100), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0')
        || ${first.replaceAll('-', '').slice(16)})::uuid,
      ${uuid('org', own.organisationId)}::uuid, ${uuid('prj', own.projectId)}::uuid,
      ${uuid('src', seeded.sourceId)}::uuid, 'received', 'none', 'POST', '', '', '[]', 2000, false, '192.0.2.7',
      convert_to(repeat(md5(n::text), 62), 'UTF8'), 1, 1
    from generate_series(1, ${EVENTS}) as n`.execute(own.db)
}
