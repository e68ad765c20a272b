import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Role } from '../../core/accounts/role.ts'
import { AGENTS_PER_MEMBER } from '../../core/limits.ts'
import { callCapability } from '../kit/agent.ts'
import { seedPerson, signIn, type Browser } from '../kit/browser-like.ts'
import { untilBlocked } from '../kit/row-locks.ts'
import { uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

const UNKNOWN_KEY = 'key_01h455vb4pex5vsknk084sn02q'

let world: World
let at: string
let owner: { id: string; browser: Browser }
beforeAll(async () => {
  world = await startWorld({ authRequestsPerMinute: 10_000, signInsPerMinute: 10_000 })
  at = `/auth/organisations/${world.organisationId}`
  owner = await join('owner')
})
afterAll(async () => await world[Symbol.asyncDispose]())

let people = 0

async function join(role: Role) {
  const email = `${role}-${++people}@example.com`
  const id = await seedPerson(world, email, { [world.organisationId]: role })
  return { id, browser: await signIn(world, email) }
}

const makeKey = async (
  { browser }: { browser: Browser },
  permissions: object | null = null,
): Promise<{ id: string; key: string }> =>
  (await browser.visit('POST', `${at}/keys`, { name: 'ci', permissions })).body
const makeAgent = async ({
  browser,
}: {
  browser: Browser
}): Promise<{ id: string; token: string }> =>
  (await browser.visit('POST', `${at}/agents`, { name: 'assistant' })).body

const reaches = async (key: string) =>
  (await world.api('GET', '/v1/sources', undefined, { key })).status
const calls = async (token: string) =>
  (await callCapability({ apiUrl: world.apiUrl, token }, 'account.list_projects')).status

const keeping = (keep: string[]) => (keep.length === 0 ? '' : `?keep=${keep.join(',')}`)
const remove = async (by: { browser: Browser }, { id }: { id: string }, ...keep: string[]) =>
  await by.browser.visit('DELETE', `${at}/members/${id}${keeping(keep)}`)
const demote = async ({ id }: { id: string }, role: Role, ...keep: string[]) =>
  await owner.browser.visit('PATCH', `${at}/members/${id}${keeping(keep)}`, { role })

const listed = async (kind: 'keys' | 'agents', id: string) =>
  (await owner.browser.visit('GET', `${at}/${kind}`)).body.data.find(
    (one: { id: string }) => one.id === id,
  )
const audited = async (action: string, subjectId: string) =>
  (await owner.browser.visit('GET', `${at}/audit`)).body.data.find(
    (one: { action: string; subjectId: string }) =>
      one.action === action && one.subjectId === subjectId,
  )
const capOf = async (id: string) => (await listed('agents', id)).roleMax

test('a removal ends the keys and agents of the person except those it keeps, which pass to the remover', async () => {
  const member = await join('member')
  const [key, spare] = [await makeKey(member), await makeKey(member)]
  const [agent, idle] = [await makeAgent(member), await makeAgent(member)]
  const removed = await remove(owner, member, key.id, agent.id)
  const outcome = { ended: [spare.id, idle.id], kept: [key.id, agent.id] }
  expect(removed).toMatchObject({ status: 200, body: outcome })
  expect([await reaches(key.key), await calls(agent.token)]).toEqual([200, 200])
  expect([await reaches(spare.key), await calls(idle.token)]).toEqual([401, 401])
  expect(await listed('keys', key.id)).toMatchObject({ createdBy: owner.id, revokedAt: null })
  expect(await listed('agents', agent.id)).toMatchObject({ memberId: owner.id, revokedAt: null })
  expect(await audited('member.remove', member.id)).toMatchObject({ changes: outcome })
  expect(await audited('api_key.revoke', spare.id)).toBeDefined()
  expect(await audited('agent.revoke', agent.id)).toBeUndefined()
})

test('a removal that keeps nothing ends all that works, and lists no key that had ended before', async () => {
  const member = await join('member')
  const [key, agent, former] = [
    await makeKey(member),
    await makeAgent(member),
    await makeKey(member),
  ]
  await member.browser.visit('DELETE', `${at}/keys/${former.id}`)
  const removed = await remove(owner, member)
  expect(removed).toMatchObject({ status: 200, body: { ended: [key.id, agent.id], kept: [] } })
  expect([await reaches(key.key), await calls(agent.token)]).toEqual([401, 401])
})

test('keep refuses ids of others, of nothing and of ended keys, and then nothing changes', async () => {
  const member = await join('member')
  const [key, former] = [await makeKey(member), await makeKey(member)]
  await member.browser.visit('DELETE', `${at}/keys/${former.id}`)
  const [others, agent] = [await makeKey(owner), await makeAgent(owner)]
  const bad = [others.id, agent.id, former.id, UNKNOWN_KEY, member.id, 'nonsense', '', `${key.id},`]
  for (const keep of bad) {
    for (const answer of [
      await owner.browser.visit('DELETE', `${at}/members/${member.id}?keep=${keep}`),
      await owner.browser.visit('PATCH', `${at}/members/${member.id}?keep=${key.id},${keep}`, {
        role: 'admin',
      }),
    ]) {
      expect(answer.body, keep).toMatchObject({
        code: 'BAD_REQUEST',
        data: { fields: [{ path: 'query.keep' }] },
      })
    }
  }
  expect(await reaches(key.key)).toBe(200)
  const { data } = (await owner.browser.visit('GET', `${at}/members`)).body
  expect(data).toContainEqual(expect.objectContaining({ id: member.id, role: 'member' }))
})

test('a person who leaves, or lowers their own role, keeps nothing by it', async () => {
  const admin = await join('admin')
  const [key, agent] = [await makeKey(admin, { billing: 'write' }), await makeAgent(admin)]
  const path = `${at}/members/${admin.id}?keep=${key.id}`
  for (const answer of [
    await admin.browser.visit('DELETE', path),
    await admin.browser.visit('PATCH', path, { role: 'member' }),
  ]) {
    expect(answer.body).toMatchObject({ data: { fields: [{ path: 'query.keep' }] } })
  }
  expect((await remove(admin, admin)).body).toEqual({ ended: [key.id, agent.id], kept: [] })
})

test('a lower role ends the keys that may do more than it, unless they are kept, and no others', async () => {
  const admin = await join('admin')
  const bills = [
    await makeKey(admin, { billing: 'write' }),
    await makeKey(admin, { billing: 'write' }),
  ]
  const [mine, unscoped] = [await makeKey(admin, { sources: 'write' }), await makeKey(admin)]
  const agent = await makeAgent(admin)
  const [ended, kept] = bills
  const answer = await demote(admin, 'member', kept?.id ?? '')
  const outcome = { ended: [ended?.id], kept: [kept?.id, mine.id, unscoped.id, agent.id] }
  expect(answer).toMatchObject({ status: 200, body: { role: 'member', ...outcome } })
  expect(await listed('keys', ended?.id ?? '')).toMatchObject({ revokedAt: expect.any(String) })
  expect(await listed('keys', kept?.id ?? '')).toMatchObject({
    createdBy: owner.id,
    revokedAt: null,
  })
  expect(await listed('keys', mine.id)).toMatchObject({ createdBy: admin.id, revokedAt: null })
  expect(await listed('agents', agent.id)).toMatchObject({ memberId: admin.id, revokedAt: null })
  expect([await reaches(mine.key), await calls(agent.token)]).toEqual([200, 200])
  expect(await audited('member.update', admin.id)).toMatchObject({ changes: outcome })
})

test('a role that is not lower ends no key', async () => {
  const member = await join('member')
  const [key, agent] = [await makeKey(member), await makeAgent(member)]
  for (const role of ['member', 'admin', 'owner'] as const) {
    const { body } = await demote(member, role)
    expect(body).toMatchObject({ role, ended: [], kept: [key.id, agent.id] })
  }
})

test('a kept agent never has a higher role than the member it was kept from, nor than its new one', async () => {
  const [first, second, third] = [await join('member'), await join('admin'), await join('owner')]
  const agents = [await makeAgent(first), await makeAgent(second)]
  const [low, high] = agents.map(({ id }) => id)
  if (low === undefined || high === undefined) throw new Error('Expected two agents')
  await remove(second, first, low)
  expect(await capOf(low)).toBe('member')
  await remove(third, second, low, high)
  expect([await capOf(low), await capOf(high)]).toEqual(['member', 'admin'])
  await demote(third, 'member')
  await remove(owner, third, low, high)
  expect([await capOf(low), await capOf(high)]).toEqual(['member', 'member'])
  for (const { token } of agents) expect(await calls(token)).toBe(200)
})

test('a member gets no more agents by keeping them than by making them', async () => {
  const [admin, member] = [await join('admin'), await join('member')]
  const { id } = await makeAgent(member)
  await world.pool.query(
    `insert into agent (id, organisation_id, person_id, name, token_hash, token_hint, created_at)
      select gen_random_uuid(), $1, $2, 'many', decode(md5(n::text), 'hex'), 'hint', now()
      from generate_series(1, $3::int) as n`,
    [uuid('org', world.organisationId), uuid('usr', admin.id), AGENTS_PER_MEMBER],
  )
  expect((await remove(admin, member, id)).body).toMatchObject({ code: 'CONFLICT', status: 409 })
  expect((await remove(admin, member)).body).toEqual({ ended: [id], kept: [] })
})

test('a person who is removed, or may less, while the request comes in removes and keeps nothing', async () => {
  const member = await join('member')
  const { id, key } = await makeKey(member)
  for (const change of [
    `update membership set role = 'member' where person_id = $1`,
    'delete from membership where person_id = $1',
  ]) {
    const admin = await join('admin')
    const holder = await world.pool.connect()
    await holder.query('begin')
    await holder.query('select from organisation where id = $1 for no key update', [
      uuid('org', world.organisationId),
    ])
    const asked = remove(admin, member, id)
    await untilBlocked(world.pool, 1)
    await holder.query(change, [uuid('usr', admin.id)])
    await holder.query('commit')
    holder.release()
    expect((await asked).body, change).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  }
  expect(await listed('keys', id)).toMatchObject({ createdBy: member.id })
  expect(await reaches(key)).toBe(200)
})
