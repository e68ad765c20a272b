import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { readCommand } from '../../api/admin/commands.ts'
import { encodeId } from '../../core/ids.ts'
import { unseal } from '../../core/secrets/sealed.ts'
import { runAdmin, type Ran } from '../kit/program.ts'
import { seedRoute, seedEvent } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function run(words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return await runAdmin(words, { DATABASE_URL: world.databaseUrl, ...env })
}

async function json(...args: string[]) {
  const ran = await run(args)
  expect(ran.stderr).toBe('')
  expect(ran.code).toBe(0)
  return JSON.parse(ran.stdout)
}

test('organisations create makes an organisation with a default project and its partitions', async () => {
  const made = await json('organisations', 'create', '--name', 'Acme', '--plan', 'scale')
  expect(made).toEqual({
    id: expect.stringMatching(/^org_/),
    name: 'Acme',
    plan: 'scale',
    createdAt: expect.any(String),
    defaultProjectId: expect.stringMatching(/^prj_/),
  })
  const { rows } = await world.pool.query(
    `select count(*)::int as days from pg_class where relname ~ '^event_30_[0-9]{8}$'`,
  )
  expect(rows[0].days).toBe(5)
  expect(await json('organisations', 'list')).toContainEqual(
    expect.objectContaining({ id: made.id }),
  )
  const projects = await json('projects', 'list', '--organisation', made.id)
  expect(projects).toMatchObject([{ id: made.defaultProjectId, isDefault: true }])
  const changed = await json('organisations', 'set-plan', made.id, 'hobby')
  expect(changed).toMatchObject({ id: made.id, plan: 'hobby' })
})

test('keys create prints a key that works; rescope and revoke act on the next request', async () => {
  const organisation = ['--organisation', world.organisationId]
  const made = await json(
    'keys',
    'create',
    '--name',
    'ci',
    '--permission',
    'sources=read',
    '--permission',
    'events=write',
    ...organisation,
    '--project',
    world.projectId,
    '--expires',
    '2099-01-01T00:00:00Z',
  )
  expect(made).toMatchObject({
    id: expect.stringMatching(/^key_/),
    key: expect.stringMatching(/^pst_sk_[0-9A-Za-z]{43}$/),
    name: 'ci',
    projectId: world.projectId,
    permissions: { sources: 'read', events: 'write' },
    expiresAt: '2099-01-01T00:00:00.000Z',
  })
  const status = async (path: string): Promise<number> =>
    (await world.api('GET', path, undefined, { key: made.key })).status
  expect(await status('/v1/sources')).toBe(200)
  expect(await status('/v1/connections')).toBe(403)
  await json('keys', 'rescope', made.id, '--permission', 'connections=read')
  expect(await status('/v1/sources')).toBe(403)
  expect(await status('/v1/connections')).toBe(200)
  const revoked = await json('keys', 'revoke', made.id)
  expect(revoked.revokedAt).not.toBeNull()
  expect(await status('/v1/connections')).toBe(401)
  const list = await json('keys', 'list', ...organisation)
  expect(list).toContainEqual(expect.objectContaining({ id: made.id }))
  expect(JSON.stringify(list)).not.toContain(made.key)
  const unscoped = await json('keys', 'create', '--name', 'u', '--unscoped', ...organisation)
  expect(unscoped.permissions).toBeNull()
})

test('sources set-rate-limit changes what the API shows read-only', async () => {
  const { sourceId } = await seedRoute(world, 'limited')
  await json('sources', 'set-rate-limit', sourceId, '25')
  expect((await world.api('GET', `/v1/sources/${sourceId}`)).body.rateLimit).toBe(25)
})

test('a command that is not understood ends with code 2 and one line, and changes nothing', async () => {
  const before = await json('organisations', 'list')
  for (const args of [['organisations', 'create'], ['--surprise']]) {
    const ran = await run(args)
    expect(ran, args.join(' ')).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr.trim().split('\n')).toHaveLength(1)
  }
  expect(await json('organisations', 'list')).toEqual(before)
})

test('a refused command ends with code 1 and its reason', async () => {
  const unknown = encodeId('key', '00000000-0000-7000-8000-000000000000')
  const organisation = ['--organisation', world.organisationId]
  for (const [args, reason] of [
    [['keys', 'revoke', unknown], 'Cannot find API key'],
    [
      ['keys', 'create', '--name', 'x', '--permission', 'sources=none', ...organisation],
      'permission',
    ],
    [
      [
        'keys',
        'create',
        '--name',
        'x',
        '--unscoped',
        '--expires',
        '2001-01-01T00:00:00Z',
        ...organisation,
      ],
      'expires',
    ],
  ] as const) {
    const ran = await run([...args])
    expect(ran, args.join(' ')).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr).toContain(reason)
  }
  const away = await run(['organisations', 'list'], { DATABASE_URL: '', DATA_DIR: '/nonexistent' })
  expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('DATABASE_URL') })
})

test('the database of a standalone installation is found through DATA_DIR; help teaches', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-admin-'))
  try {
    const file = join(directory, 'standalone.json')
    writeFileSync(file, JSON.stringify({ databaseUrl: world.databaseUrl, pid: 1 }))
    const ran = await run(['organisations', 'list'], { DATABASE_URL: '', DATA_DIR: directory })
    expect(ran.code).toBe(0)
    expect(ran.stdout).toContain(world.organisationId)
  } finally {
    rmSync(directory, { recursive: true })
  }
  const help = await run(['--help'])
  expect(help.code).toBe(0)
  for (const word of [
    'keys create',
    'organisations set-plan',
    'DATA_DIR',
    'sources set-rate-limit',
  ]) {
    expect(help.stdout).toContain(word)
  }
})

test('retention run purges now and prints what it did', async () => {
  const seeded = await seedRoute(world, 'retention')
  const hour = 3_600_000
  const old = await seedEvent(world, {
    ...seeded,
    atMs: world.clock.now() - 90 * 24 * hour - hour,
  })
  const young = await seedEvent(world, {
    ...seeded,
    atMs: world.clock.now() - 90 * 24 * hour + hour,
  })
  const report = await json('retention', 'run')
  expect(report).toMatchObject({ events: 1, expired: 0, daysLeft: [], asOf: expect.any(String) })
  expect((await world.api('GET', `/v1/events/${old}`)).status).toBe(404)
  expect((await world.api('GET', `/v1/events/${young}`)).status).toBe(200)
})

test('secrets rotate-encryption-key seals every secret under the first key, and only once', async () => {
  const { destinationId } = await seedRoute(world, 'sealed')
  const source = await world.api('POST', '/v1/sources', {
    name: 'sealed with a secret',
    verifier: { preset: 'github', secret: 'old friend' },
  })
  expect(source.status).toBe(201)
  const secretOf = async () =>
    (await world.api('GET', `/v1/destinations/${destinationId}/signing-secret`)).body.secret
  const before = await secretOf()
  const old = world.keyring.get('0') ?? Buffer.alloc(0)
  const next = randomBytes(32)
  const rotate = async (keys: string): Promise<Ran> =>
    await run(['secrets', 'rotate-encryption-key'], { POSTERN_ENCRYPTION_KEY: keys })
  const both = `2026:${next.toString('base64')},0:${old.toString('base64')}`
  const rotated = await rotate(both)
  expect(rotated).toMatchObject({ code: 0, stderr: '' })
  const counts = JSON.parse(rotated.stdout)
  expect(counts.encryptionKey).toBe('2026')
  expect(counts.sources).toBeGreaterThan(0)
  expect(counts.destinations).toBeGreaterThan(0)
  expect(JSON.parse((await rotate(both)).stdout)).toMatchObject({ sources: 0, destinations: 0 })
  const keyring = new Map([['2026', next]])
  const { rows } = await world.pool.query<{ place: string; secrets: Buffer }>(
    `select format('destination.secrets/%s/%s', organisation_id, id) as place, secrets from destination union all
     select format('source.secrets/%s/%s', organisation_id, id), secrets from source where secrets is not null`,
  )
  for (const { place, secrets } of rows) {
    expect(() => unseal(keyring, secrets, place)).not.toThrow()
  }
  expect(JSON.stringify(rotated)).not.toContain(old.toString('base64'))
  // And back, for the API of this world, which knows the old key alone.
  expect((await rotate(`0:${old.toString('base64')},2026:${next.toString('base64')}`)).code).toBe(0)
  expect(await secretOf()).toBe(before)
  const missing = await rotate(`3:${next.toString('base64')}`)
  expect(missing).toMatchObject({ code: 1, stdout: '' })
  expect(missing.stderr).toContain('encryption key "0" is not configured')
})

test('each noun and verb explains itself with an example', async () => {
  const overview = (await run(['--help'])).stdout
  const verbs = [...overview.matchAll(/^  ([a-z]+) ([a-z-]+)(?: |$)/gm)].filter(
    ([, noun]) => noun !== 'npm',
  )
  expect(verbs.length).toBeGreaterThanOrEqual(11)
  for (const [, noun = '', verb = ''] of verbs) {
    const { help } = helpFor(noun, verb, '--help')
    expect(help).toContain(`Example: npm run admin -- ${noun} ${verb}`)
    expect(helpFor(noun, '--help').help).toContain(help.split('\n\n')[0])
    const [example = ''] = /(?<=Example: npm run admin -- ).*/.exec(help) ?? []
    expect(readCommand(example.split(' ')), example).toBeTypeOf('function')
  }
})

function helpFor(...words: string[]): { help: string } {
  const answer = readCommand(words)
  if (!('help' in answer)) throw new Error(words.join(' '))
  return answer
}
