import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Access } from '../../api/auth/principal.ts'
import { runRoute, type RawInput } from '../../api/http/call.ts'
import { isPublic, type KeyedRoute } from '../../api/http/route.ts'
import { ROUTES } from '../../api/routes.ts'
import { decodeId } from '../../core/ids.ts'
import type { Permissions } from '../../core/keys/permissions.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** The access that a session or an agent would bring, instead of a key. */
function access(permissions: Permissions | null): Access {
  const organisationId = decodeId('org', world.organisationId) ?? ''
  const projectId = decodeId('prj', world.projectId) ?? ''
  return {
    principal: {
      organisationId,
      actor: { name: 'user:somebody', address: '192.0.2.7' },
      permissions,
      isBound: false,
    },
    reach: { organisationId, projectId: undefined },
    project: () => projectId,
  }
}

function named(operationId: string): KeyedRoute {
  const route = ROUTES.find((each) => each.operationId === operationId)
  if (route === undefined || isPublic(route)) throw new Error(`No route ${operationId}`)
  return route
}

async function run(operationId: string, permissions: Permissions | null, raw: Partial<RawInput>) {
  const input = { params: {}, query: {}, headers: {}, body: () => undefined, ...raw }
  return await runRoute(world.deps, named(operationId), access(permissions), input)
}

test('runRoute() does for any access what a key does over HTTP, and audits who did it', async () => {
  const body = () => ({ name: 'made without a key' })
  const { status, body: made } = await run('createSource', { sources: 'write' }, { body })
  expect(status).toBe(201)
  expect(made).toMatchObject({ name: 'made without a key', projectId: world.projectId })
  const list = await world.api('GET', '/v1/sources')
  expect(list.body.data).toEqual([made])
  const audited = await world.db
    .selectFrom('audit')
    .select(['actor', 'action', 'address'])
    .where('actor', '=', 'user:somebody')
    .execute()
  expect(audited).toEqual([
    { actor: 'user:somebody', action: 'source.create', address: '192.0.2.7' },
  ])
})

test('runRoute() refuses an access without the permission before it reads the input', async () => {
  const body = (): never => {
    throw new Error('The body was read')
  }
  const attempt = run('createSource', { sources: 'read' }, { body })
  await expect(attempt).rejects.toMatchObject({ code: 'INSUFFICIENT_API_KEY_PERMISSIONS' })
})

test('runRoute() checks what an operation needs by its kind', async () => {
  const body = () => ({ kind: 'retry' })
  const attempt = run('createOperation', { events: 'read' }, { body })
  await expect(attempt).rejects.toMatchObject({ code: 'INSUFFICIENT_API_KEY_PERMISSIONS' })
})

test.for<[string, Partial<RawInput>, object]>([
  [
    'getSource',
    { params: { id: 'src_nobody' } },
    { code: 'NOT_FOUND', message: 'Cannot find source "src_nobody"' },
  ],
  [
    'createSource',
    { body: () => ({ name: 'a', surprise: 1 }) },
    { code: 'BAD_REQUEST', data: { fields: [{ path: 'body.surprise' }] } },
  ],
  [
    'createSource',
    { body: () => ({ name: 'half of a pair \ud800' }) },
    { code: 'BAD_REQUEST', data: { fields: [{ path: 'body.name' }] } },
  ],
  [
    'listSources',
    { query: { limit: '0' } },
    { code: 'BAD_REQUEST', data: { fields: [{ path: 'query.limit' }] } },
  ],
])(
  'runRoute() refuses the input of %s by the name of its member: %j',
  async ([id, raw, refusal]) => {
    await expect(run(id, { sources: 'write' }, raw)).rejects.toMatchObject(refusal)
  },
)
