import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { runAdmin, type Ran } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ plan: 'scale' })
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function run(words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return await runAdmin(words, { DATABASE_URL: world.databaseUrl, ...env })
}

async function json(...args: string[]) {
  const ran = await run(args)
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(ran.stdout)
}

test('organisations override negotiates a plan, adds to it and clears it, with an audit row each', async () => {
  const id = world.organisationId
  const plan = async () => (await world.api('GET', '/v1/billing/plan')).body.entitlements
  const made = await json(
    'organisations',
    'override',
    id,
    '--set',
    'deliveryQuota=5000000',
    '--set',
    'seats=unlimited',
    '--set',
    'isHardCapped=true',
  )
  const overrides = { deliveryQuota: 5_000_000, seats: null, isHardCapped: true }
  expect(made).toMatchObject({ id, plan: 'scale', overrides })
  expect(await plan()).toMatchObject(overrides)
  const more = await json('organisations', 'override', id, '--set', 'retentionDays=60')
  expect(more.overrides).toEqual({ ...overrides, retentionDays: 60 })
  const classes = await world.pool.query(`select retention_class from organisation`)
  expect(classes.rows).toEqual([{ retention_class: 90 }])
  const one = await json('organisations', 'override', id, '--clear', '--set', 'connectors=7')
  expect(one.overrides).toEqual({ connectors: 7 })
  expect((await json('organisations', 'override', id, '--clear')).overrides).toEqual({})
  expect(await plan()).toMatchObject({ deliveryQuota: 1_000_000, seats: 20, connectors: 10 })
  const { rows } = await world.pool.query(
    `select actor, changes->'overrides' as overrides from audit
     where action = 'organisation.override' order by at, id`,
  )
  expect(rows).toHaveLength(4)
  expect(rows[0]).toEqual({ actor: 'admin', overrides })
})

test('ledger list is what was metered and what changed it, oldest first', async () => {
  await world.api('POST', '/v1/billing/change-plan', { plan: 'launch', when: 'now' })
  await json('organisations', 'set-plan', world.organisationId, 'hobby')
  const listed: { kind: string; plan: string; at: string }[] = await json('ledger', 'list')
  // Ids order what one process made, and its clock may have been ahead before; these are of two.
  const ledger = listed.toSorted((a, b) => a.at.localeCompare(b.at))
  expect(ledger.slice(-3).map(({ kind, plan }) => [kind, plan])).toEqual([
    ['subscription.started', 'launch'],
    ['plan.changed', 'launch'],
    ['plan.changed', 'hobby'],
  ])
  expect(ledger[0]).toMatchObject({ kind: 'plan.overridden', window: null, deliveries: null })
  const { plan, subscription } = (await world.api('GET', '/v1/billing/plan')).body
  expect([plan, subscription.status]).toEqual(['hobby', 'active'])
})

test('an organisation that is not there is refused', async () => {
  const ran = await run(['organisations', 'override', 'org_01h455vb4pex5vsknk084sn02q', '--clear'])
  expect(ran).toMatchObject({ code: 1, stdout: '' })
  expect(ran.stderr).toContain('Cannot find organisation')
})

test('PLANS_FILE decides what a plan grants; a fault in it names the file and the member', async () => {
  using directory = scratch()
  const file = join(directory.path, 'plans.json')
  const create = ['organisations', 'create', '--name', 'Short', '--plan', 'scale']
  writeFileSync(file, '{"scale":{"retentionDays":5}}')
  expect((await run(create, { PLANS_FILE: file })).code).toBe(0)
  const { rows } = await world.pool.query(
    `select retention_class from organisation where name = 'Short'`,
  )
  expect(rows).toEqual([{ retention_class: 7 }])
  writeFileSync(file, '{"scale":{"retentionDay":5}}')
  const ran = await run(create, { PLANS_FILE: file })
  expect(ran).toMatchObject({ code: 1, stdout: '' })
  expect(ran.stderr).toContain(`PLANS_FILE "${file}": scale.retentionDay: Unknown member`)
})
