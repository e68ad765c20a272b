import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { isPublic, type KeyedRoute } from '../../api/http/route.ts'
import { openApiDocument, openApiRoute } from '../../api/openapi/document.ts'
import { ROUTES } from '../../api/routes.ts'
import { decodeId, encodeId, newId, type Prefix } from '../../core/ids.ts'
import { covers, RESOURCES, type Need, type Permissions } from '../../core/keys/permissions.ts'
import { seedPerson, signIn } from '../kit/browser-like.ts'
import type { Answer } from '../kit/call-api.ts'
import { seedConnector } from '../kit/seed-connector.ts'
import { seedDelivery, seedEvent } from '../kit/seed.ts'
import { EVERYTHING, startWorld, type Tenant, type World } from '../kit/world.ts'

/** Ids of one project by their prefixes, one of each kind that a request can name. */
type Ids = Readonly<Partial<Record<Prefix, string>>>

interface Holder {
  name: string
  /** Or a session of the dashboard, whose requests go to /app/api. */
  key?: string
  cookie?: string
  permissions: Permissions | null
  /** Ids that this key must not reach. */
  foreign: Ids
  own: Ids
}

interface Request {
  path: string
  body: string | undefined
  headers: Record<string, string>
}

const ID = /\b[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g
const FOREIGN_NAME = 'theirs'
const READ = Object.fromEntries(RESOURCES.map((one) => [one, 'read'])) as Permissions

const routes = [
  ...ROUTES.flatMap((route) => (isPublic(route) ? [] : [route])),
  openApiRoute(() => ({})),
]
const document = openApiDocument(routes)
const named = routes.map((route): [string, KeyedRoute] => [route.operationId, route])

let world: World
let holders: Holder[]
let theirs: Ids
let theirUuids: string[]
const taken = new Set<KeyedRoute>()

beforeAll(async () => {
  world = await startWorld({ gatewayUrl: 'ws://gateway.test' })
  const other = await world.createTenant()
  theirs = await idsOf(other, FOREIGN_NAME)
  const mine = await idsOf(world, 'first')
  const second = await world.api('POST', '/v1/projects', { name: 'second' })
  const tenant = { ...world, projectId: second.body.id }
  const beside = await idsOf(tenant, 'second')
  const bound = await world.createKey(EVERYTHING, { projectId: second.body.id })
  const reach = { foreign: theirs, own: mine }
  holders = [
    { name: 'full', permissions: EVERYTHING, key: world.key, ...reach },
    { name: 'unscoped', permissions: null, ...(await world.createKey(null)), ...reach },
    { name: 'read-only', permissions: READ, ...(await world.createKey(READ)), ...reach },
    {
      name: 'single-resource',
      permissions: { sources: 'write' },
      ...(await world.createKey({ sources: 'write' })),
      ...reach,
    },
    { name: 'bound', permissions: EVERYTHING, ...bound, foreign: mine, own: beside },
    {
      name: 'bound, to the others',
      permissions: EVERYTHING,
      ...bound,
      foreign: theirs,
      own: beside,
    },
  ]
  const { organisationId } = world
  await seedPerson(world, 'owner@example.com', { [organisationId]: 'owner' })
  await seedPerson(world, 'member@example.com', { [organisationId]: 'member' })
  await seedPerson(world, 'theirs@example.com', { [other.organisationId]: 'owner' })
  const session = async (email: string) => ({ cookie: (await signIn(world, email)).cookie ?? '' })
  const theirReach = { foreign: mine, own: theirs }
  holders.push(
    { name: 'owner', permissions: EVERYTHING, ...(await session('owner@example.com')), ...reach },
    { name: 'member', permissions: null, ...(await session('member@example.com')), ...reach },
    {
      name: 'owner of the others',
      permissions: EVERYTHING,
      ...(await session('theirs@example.com')),
      ...theirReach,
    },
  )
  theirUuids = Object.entries({ ...theirs, org: other.organisationId }).map(([prefix, id]) =>
    decode(prefix, id),
  )
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** A resource of each kind, in the project of a tenant. */
async function idsOf(tenant: Tenant, name: string): Promise<Ids> {
  const { key, projectId, organisationId } = tenant
  const headers = { 'x-project-id': projectId }
  const make = async (path: string, body: unknown): Promise<string> => {
    const answer = await world.api('POST', path, body, { key, headers })
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return answer.body.id
  }
  const src = await make('/v1/sources', { name })
  const dst = await make('/v1/destinations', { name, url: 'http://127.0.0.1:9/' })
  const con = await make('/v1/connections', { name, sourceId: src, destinationId: dst })
  const place = { sourceId: src, projectId, organisationId }
  const evt = await seedEvent(world, place)
  const target = { eventId: evt, connectionId: con, destinationId: dst }
  const dlv = await seedDelivery(world, { ...place, ...target })
  const opr = await make('/v1/operations', { kind: 'retry', filter: { sourceId: src } })
  const { connectorId: cnr, replicaId: rpl } = await seedConnector({ ...world, ...tenant })
  return { prj: projectId, src, dst, con, evt, dlv, opr, cnr, rpl }
}

test.for(named)(
  '%s answers for a foreign id as for none, and leaves it alone',
  async ([, route]) => {
    const before = await theirRows()
    for (const holder of holders.filter(({ permissions }) => mayAsk(route, permissions))) {
      // A free name makes a resource of the holder's own, which must not be one of theirs.
      const mayMake = holder.own !== theirs
      for (const place of placesOf(route).filter(({ name }) => mayMake || name !== 'name')) {
        const foreign = await ask(route, holder, place.fill(holder.foreign))
        const missing = await ask(route, holder, place.fill(fresh(holder.foreign)))
        const what = `${holder.name}: ${place.name}`
        expect(seen(foreign), what).toEqual(seen(missing))
        expect(foreign.status, what).toBeLessThan(500)
        expect(tells(foreign, place.fill(holder.foreign)(holder.own)), what).toEqual([])
        const isRefused = /"code":"NOT_FOUND"/.test(JSON.stringify(foreign.body ?? null))
        expect(isRefused || !place.isSubject, what).toBe(true)
      }
    }
    expect(await theirRows()).toEqual(before)
  },
)

test.for(named)('%s refuses what a key lacks before it looks at ids or body', async ([, route]) => {
  for (const holder of holders) {
    for (const { need, body } of needsOf(route)) {
      if (covers(holder.permissions, need)) continue
      const answers: Answer[] = []
      for (const ids of [holder.own, holder.foreign, fresh(holder.foreign)]) {
        answers.push(await ask(route, holder, { ...request(route, ids), body }))
      }
      const code = holder.cookie === undefined ? 'INSUFFICIENT_API_KEY_PERMISSIONS' : 'FORBIDDEN'
      expect(answers[0]?.body).toMatchObject({ code, status: 403 })
      expect(answers.map(({ body: told }) => told)).toEqual(answers.map(() => answers[0]?.body))
    }
  }
})

test.for(named)('%s shows nothing of another organisation', async ([, route]) => {
  const inPath = Object.values(route.params).filter((kind) => kind !== 'name')
  // Anything else needs an id to show something, and has been asked for theirs above.
  if (route.method !== 'GET' || inPath.some((prefix) => prefix !== 'prj')) return
  const [full] = holders
  if (full === undefined) throw new Error('No key')
  const answer = await ask(route, full, request(route, full.own))
  expect(answer.status).toBeLessThan(500)
  const text = JSON.stringify(answer.body ?? null)
  for (const id of Object.values(theirs)) expect(text).not.toContain(id)
})

test('the checksum of the other organisation notices a changed row', async () => {
  const before = await theirRows()
  await world.pool.query('update source set metadata = $1 where id = $2', [
    '{"a":"b"}',
    decode('src', theirs.src ?? ''),
  ])
  expect(await theirRows()).not.toEqual(before)
})

/** Every place of a request that can name a record, each filled with one set of ids while the rest is the key's own. */
function placesOf(route: KeyedRoute) {
  const places: { name: string; isSubject: boolean; fill: (ids: Ids) => (own: Ids) => Request }[] =
    []
  const add = (name: string, isSubject: boolean, fill: (own: Ids, ids: Ids) => Request) =>
    places.push({ name, isSubject, fill: (ids) => (own) => fill(own, ids) })

  add('X-Project-Id', true, (own, ids) => ({
    ...request(route, own),
    headers: { 'x-project-id': idFrom(ids, 'prj') },
  }))
  const kinds = Object.values(route.params)
  if (kinds.some((kind) => kind !== 'name')) {
    add('path', true, (own, ids) => ({ ...request(route, own), path: request(route, ids).path }))
  }
  if (kinds.includes('name')) {
    // A name belongs to its project: that others use it must not be felt by the first who takes it here.
    add('name', false, (own, ids) => {
      const isFirst = ids === theirs && own === holders[0]?.own && !taken.has(route)
      if (isFirst) taken.add(route)
      const name = isFirst ? FOREIGN_NAME : `free-${newId(world.clock.now())}`
      return { ...request(route, own), path: request(route, own).path.replace('Orders', name) }
    })
  }
  for (const [name, prefix] of idsInQuery(route)) {
    add(`query ${name}`, false, (own, ids) => {
      const { path, ...rest } = request(route, own)
      return { ...rest, path: `${path}?${name}=${idFrom(ids, prefix)}` }
    })
  }
  const example = bodyOf(route)
  if (example?.match(ID)) {
    add('body', false, (own, ids) => ({ ...request(route, own), body: withIds(example, ids) }))
  }
  return places
}

async function ask(
  route: KeyedRoute,
  { key, cookie, own }: Holder,
  fill: Request | ((own: Ids) => Request),
): Promise<Answer> {
  const asked = typeof fill === 'function' ? fill(own) : fill
  const { path, body, headers } = cookie === undefined ? asked : atDashboard(asked, own, cookie)
  if (route.contentType === undefined) {
    return await world.api(route.method, path, body, { key: key ?? null, headers })
  }
  // A stream goes on: what matters is whether it began.
  const stop = new AbortController()
  const response = await fetch(`${world.apiUrl}${path}`, {
    headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
    signal: stop.signal,
  })
  const answer = response.ok ? undefined : await response.json()
  stop.abort()
  return { status: response.status, headers: response.headers, body: answer }
}

/** The same request of a session: the project that a key names in a header stands in the path. */
function atDashboard({ path, body, headers }: Request, own: Ids, cookie: string): Request {
  const projectId = headers['x-project-id'] ?? idFrom(own, 'prj')
  return {
    path: path.replace('/v1/', `/app/api/${projectId}/`),
    body,
    headers: { cookie, origin: world.apiUrl },
  }
}

/** The request that the document shows, with ids of the given set. */
function request(route: KeyedRoute, ids: Ids): Request {
  const path = route.path.replaceAll(/:(\w+)/g, (_match, name: string) => {
    const kind = route.params[name] ?? 'name'
    return kind === 'name' ? 'Orders' : idFrom(ids, kind)
  })
  const example = bodyOf(route)
  return {
    path: `/v1${path}`,
    body: example === undefined ? undefined : withIds(example, ids),
    headers: {},
  }
}

function bodyOf(route: KeyedRoute): string | undefined {
  const path = `/v1${route.path.replaceAll(/:(\w+)/g, '{$1}')}`
  const { data } = z
    .object({
      requestBody: z.object({
        content: z.object({ 'application/json': z.object({ example: z.unknown() }) }),
      }),
    })
    .safeParse(operation(path, route.method.toLowerCase()))
  return data && JSON.stringify(data.requestBody.content['application/json'].example)
}

function operation(path: string, method: string): unknown {
  const paths = z.record(z.string(), z.record(z.string(), z.unknown())).parse(document['paths'])
  return paths[path]?.[method]
}

/** Members of the query that are ids, told by their pattern. */
function idsInQuery(route: KeyedRoute): [string, Prefix][] {
  return Object.entries(route.query?.shape ?? {}).flatMap(([name, schema]): [string, Prefix][] => {
    const text = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
    const [, prefix] = /"pattern":"\^([a-z]{3})_/.exec(text) ?? []
    return prefix === undefined ? [] : [[name, asPrefix(prefix)]]
  })
}

function withIds(text: string, ids: Ids): string {
  return text.replaceAll(ID, (id) => idFrom(ids, asPrefix(id.slice(0, 3))))
}

/** A kind of record that is not furnished yet fails here: add it to `idsOf`. */
function idFrom(ids: Ids, prefix: Prefix): string {
  const id = ids[prefix]
  if (id === undefined) throw new Error(`No record of kind "${prefix}" is furnished`)
  return id
}

/** Ids of the same kinds that name nothing. */
function fresh(ids: Ids): Ids {
  return Object.fromEntries(
    Object.keys(ids).map((prefix) => [
      prefix,
      encodeId(asPrefix(prefix), newId(world.clock.now())),
    ]),
  )
}

/** Ids of the other organisation in an answer that were not in its request. */
function tells({ body }: Answer, asked: Request): string[] {
  const text = JSON.stringify(body ?? null)
  const known = JSON.stringify(asked)
  return Object.values(theirs).filter((id) => text.includes(id) && !known.includes(id))
}

/** Status and body without what differs between any two answers: ids, names that were asked for, and times. */
function seen({ status, body }: Answer): unknown {
  const text = JSON.stringify(body ?? null)
    .replaceAll(ID, '<id>')
    .replaceAll(/free-[0-9a-f-]{36}|theirs/g, '<name>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/"(maskId|ingestUrl|enrollmentKey)":"[^"]+"/g, '"$1":"<random>"')
  return { status, text }
}

/** The permissions that an operation needs, each with the body that decides it, if the body does. */
function needsOf({
  method,
  permission,
  needsByKind,
}: KeyedRoute): { need: Need; body: string | undefined }[] {
  if (permission !== 'any_key')
    return [{ need: permission, body: method === 'GET' ? undefined : '{' }]
  return Object.entries(needsByKind ?? {}).map(([kind, need]) => ({
    need,
    body: JSON.stringify({ kind, surprise: 1 }),
  }))
}

function mayAsk(route: KeyedRoute, permissions: Permissions | null): boolean {
  return needsOf(route).every(({ need }) => covers(permissions, need))
}

/** A checksum of each table's rows that hold an id of the other organisation, of whatever column and kind. */
async function theirRows(): Promise<unknown> {
  const { rows: tables } = await world.pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  )
  const selects = tables.map(
    ({ name }) =>
      `select '${name}' as name, count(*), md5(string_agg(t::text, '' order by t::text)) as sum from ${name} t
       where t::text ~ $1`,
  )
  const { rows } = await world.pool.query(selects.join(' union all '), [theirUuids.join('|')])
  return rows
}

function decode(prefix: string, id: string): string {
  const uuid = decodeId(asPrefix(prefix), id)
  if (uuid === undefined) throw new Error(`Not an id: ${id}`)
  return uuid
}

function asPrefix(text: string): Prefix {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- three letters of an id that we made
  return text as Prefix
}
