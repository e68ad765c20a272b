import { createHash } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { endInvitation, invite } from '../../api/accounts/organisations/invitations.ts'
import { changePlan } from '../../api/accounts/organisations/organisations.ts'
import { DAY_MS } from '../../core/clock.ts'
import { listInvitations, openInvitations } from '../../core/db/configuration/invitations.ts'
import { Refusal } from '../../core/errors.ts'
import { runAdmin } from '../kit/program.ts'
import { uuid } from '../kit/seed.ts'
import { TESTER } from '../kit/tester.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** An organisation whose plan has five seats, and how to invite somebody into it. */
async function openOrganisation() {
  const tenancy = { ...world.deps, actor: TESTER }
  const tenant = await world.createTenant('launch')
  const organisationId = uuid('org', tenant.organisationId)
  const ask = async (name: string) =>
    await invite(tenancy, { organisationId, email: `${name}@example.com`, role: 'member' })
  const open = async () =>
    (await openInvitations(world.db, organisationId, new Date(world.clock.now()))).map(
      ({ email }) => email,
    )
  return { tenancy, organisationId, ask, open }
}

test('users invite prints a token this once, which is kept as its hash; list and revoke go on from there', async () => {
  const tenant = await world.createTenant('launch')
  const run = async (...words: string[]) => {
    const ran = await runAdmin(['users', ...words], { DATABASE_URL: world.databaseUrl })
    expect(ran).toMatchObject({ stderr: '', code: 0 })
    return JSON.parse(ran.stdout)
  }
  const organisation = ['--organisation', tenant.organisationId]
  const made = await run('invite', 'Ada@Example.com', '--role', 'admin', ...organisation)
  expect(made).toEqual({
    id: expect.stringMatching(/^inv_/),
    organisationId: tenant.organisationId,
    email: 'ada@example.com',
    role: 'admin',
    expiresAt: expect.any(String),
    revokedAt: null,
    acceptedAt: null,
    createdAt: expect.any(String),
    token: expect.stringMatching(/^[\w-]{43}$/),
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/invite#[\w-]{43}$/),
  })
  expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBe(7 * DAY_MS)
  const { rows } = await world.pool.query('select token_hash from invitation where id = $1', [
    uuid('inv', made.id),
  ])
  expect(rows[0].token_hash).toEqual(createHash('sha256').update(made.token).digest())
  const { token: _token, url: _url, ...record } = made
  expect(await run('list', ...organisation)).toEqual([record])
  expect(await run('revoke', made.id)).toEqual({ ...record, revokedAt: expect.any(String) })
})

test('403 INVITATION_LIMIT_REACHED: invitations past the seats of the plan, however many are made at once', async () => {
  const { ask, open } = await openOrganisation()
  const answers = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => ask(`user-${n}`)))
  const refused = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  expect(refused).toHaveLength(15)
  for (const reason of refused) {
    expect(reason).toBeInstanceOf(Refusal)
    expect(reason).toMatchObject({ code: 'INVITATION_LIMIT_REACHED', data: undefined })
  }
  expect(await open()).toHaveLength(5)
})

test('an invitation that ends, by a hand or by time, leaves its seat; a larger plan has more', async () => {
  const { tenancy, organisationId, ask, open } = await openOrganisation()
  const [first] = await Promise.all([1, 2, 3, 4, 5].map((n) => ask(`user-${n}`)))
  if (first === undefined) throw new Error('Nobody was invited')
  await expect(ask('sixth')).rejects.toThrow('5 seats')
  await endInvitation(tenancy, first.invitation.id)
  await ask('sixth')
  await expect(ask('seventh')).rejects.toThrow('5 seats')
  await changePlan(tenancy, organisationId, 'scale')
  await ask('seventh')
  world.clock.advance(7 * DAY_MS)
  expect(await open()).toEqual([])
})

test('a second invitation of an address replaces the first and takes no further seat', async () => {
  const { organisationId, ask, open } = await openOrganisation()
  await Promise.all([1, 2, 3, 4, 5].map((n) => ask(`user-${n}`)))
  await ask('user-3')
  expect(await open()).toHaveLength(5)
  const ended = (await listInvitations(world.db, organisationId)).filter(
    ({ revokedAt }) => revokedAt !== null,
  )
  expect(ended).toMatchObject([{ email: 'user-3@example.com' }])
})

test('the audit says who invited whom, without the token', async () => {
  const { organisationId, ask } = await openOrganisation()
  const { invitation, token } = await ask('ada')
  const { rows } = await world.pool.query(
    `select actor, action, subject_id, changes from audit
     where organisation_id = $1 and subject_kind = 'invitation'`,
    [organisationId],
  )
  expect(rows).toEqual([
    {
      actor: 'test',
      action: 'invitation.create',
      subject_id: invitation.id,
      changes: { email: 'ada@example.com', role: 'member' },
    },
  ])
  expect(JSON.stringify(rows)).not.toContain(token)
})
