import { afterAll, beforeAll, expect, test } from 'vitest'

import { rotateEncryptionKey, bindSecrets } from '../../core/actions/rotate.ts'
import { seal, unseal } from '../../core/secrets/sealed.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type Tenant, type World } from '../kit/world.ts'

let world: World
let other: Tenant
beforeAll(async () => {
  world = await startWorld()
  other = await world.createTenant()
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function makeDestination(key: string, name: string): Promise<string> {
  const fields = { name, url: 'https://example.com/', auth: { type: 'bearer', token: 'TOP' } }
  const made = await world.api('POST', '/v1/destinations', fields, { key })
  expect(made.status).toBe(201)
  return made.body.id
}

async function copySecrets(from: string, to: string): Promise<void> {
  await world.pool.query(
    'update destination set secrets = (select secrets from destination where id = $1) where id = $2',
    [uuid('dst', from), uuid('dst', to)],
  )
}

test('secrets that are copied to the row of another destination do not open there', async () => {
  const theirs = await makeDestination(world.key, 'theirs')
  for (const [key, name] of [
    [other.key, 'of another tenant'],
    [world.key, 'of the same tenant'],
  ] as const) {
    const own = await makeDestination(key, name)
    await copySecrets(theirs, own)
    const answer = await world.api('GET', `/v1/destinations/${own}/signing-secret`, undefined, {
      key,
    })
    expect(answer.status).toBe(500)
    expect(JSON.stringify(answer.body)).not.toContain('whsec_')
  }
})

test('secrets of a version before open, and are bound to their rows in steps that can be repeated', async () => {
  await using own = await startWorld()
  const { destinationId } = await seedRoute(own, 'before')
  const path = `/v1/destinations/${destinationId}/signing-secret`
  const before = (await own.api('GET', path)).body.secret
  const place = `destination.secrets/${uuid('org', own.organisationId)}/${uuid('dst', destinationId)}`
  const read = async (): Promise<Buffer> => {
    const { rows } = await own.pool.query('select secrets from destination')
    return rows[0].secrets
  }
  const unplaced = seal(own.keyring, unseal(own.keyring, await read(), place))
  await own.pool.query('update destination set secrets = $1', [unplaced])
  expect((await own.api('GET', path)).body.secret).toBe(before)

  expect(await bindSecrets(own.db, own.keyring)).toMatchObject({ destination: 1 })
  expect(await bindSecrets(own.db, own.keyring)).toEqual({ source: 0, destination: 0 })
  expect((await own.api('GET', path)).body.secret).toBe(before)
  expect(() => unseal(own.keyring, unplaced.subarray(1), place)).toThrow(/unseal|authenticate/)
  const bound = await read()
  expect(() => unseal(own.keyring, bound, `${place}0`)).toThrow('unable to authenticate')
  expect(() => unseal(own.keyring, bound)).toThrow('unable to authenticate')
  expect(() => unseal(own.keyring, bound.subarray(1))).toThrow(/unseal|authenticate/)

  // Where a rotation of the key comes first, it binds them as well.
  await own.pool.query('update destination set secrets = $1', [unplaced])
  expect(await rotateEncryptionKey(own.db, own.keyring)).toMatchObject({ destination: 1 })
  expect((await own.api('GET', path)).body.secret).toBe(before)
})
