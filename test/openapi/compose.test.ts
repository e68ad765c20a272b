import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { readConfig, readMigrateConfig, SETTING_NAMES, type OwnPort } from '../../core/config.ts'
import { scratch } from '../kit/servers.ts'
import { has, run } from './tools.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FILE = join(ROOT, 'compose.yaml')
const IS_CI = process.env['CI'] !== undefined
const noGo = !IS_CI && !(await has('go', 'version'))

const GIVEN = {
  POSTGRES_PASSWORD: 'hunter2',
  POSTERN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
}
const OWN_PORTS: Readonly<Record<string, OwnPort>> = {
  api: 'API_PORT',
  ingest: 'INGEST_PORT',
  gateway: 'GATEWAY_PORT',
}

const Service = z.looseObject({
  image: z.string(),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()).default({}),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  restart: z.string(),
  pids_limit: z.number(),
  logging: z.object({ options: z.record(z.string(), z.string()) }),
  healthcheck: z.looseObject({
    test: z.array(z.string()).default([]),
    disable: z.boolean().default(false),
  }),
  networks: z.record(z.string(), z.unknown()),
  volumes: z.array(z.looseObject({ type: z.string(), source: z.string().optional() })).default([]),
  ports: z
    .array(
      z.looseObject({ target: z.number(), published: z.string(), host_ip: z.string().optional() }),
    )
    .default([]),
  depends_on: z.record(z.string(), z.looseObject({ condition: z.string() })).default({}),
})
const Project = z.looseObject({
  services: z.record(z.string(), Service),
  networks: z.record(z.string(), z.looseObject({ internal: z.boolean().default(false) })),
})
type Project = z.infer<typeof Project>

describe.skipIf(noGo)('compose.yaml, read as Docker Compose reads it', () => {
  const stack = new DisposableStack()
  const tools = stack.use(scratch())
  const reader = join(tools.path, 'compose')
  beforeAll(async () => {
    await run('go', ['build', '-o', reader, '.'], { cwd: join(import.meta.dirname, 'compose') })
  }, 600_000)
  afterAll(() => stack.dispose())

  /** The project that Compose would run, with these lines in the file .env beside it. */
  async function composed(
    env: Readonly<Record<string, string>>,
    others: readonly string[] = [],
  ): Promise<Project> {
    using place = scratch()
    const files = [readFileSync(FILE, 'utf8'), ...others].map((text, index) => {
      const file = join(place.path, `${index}.yaml`)
      writeFileSync(file, text)
      return file
    })
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(join(place.path, '.env'), lines.join(''))
    return Project.parse(JSON.parse(await run(reader, files, { cwd: place.path })))
  }

  const rolesOf = ({ services }: Project) =>
    Object.entries(services).filter(([, { image }]) => image.startsWith('postern:'))

  test('it is valid with a password and a key, and says which of them is missing', async () => {
    const { services } = await composed(GIVEN)
    expect(Object.keys(services)).toEqual([
      'api',
      'gateway',
      'housekeeper',
      'ingest',
      'migrate',
      'nats',
      'postgresql',
      'worker',
    ])
    for (const name of Object.keys(GIVEN)) {
      await expect(composed({ ...GIVEN, [name]: '' })).rejects.toThrow(`${name} is missing a value`)
    }
  })

  test('each role gets settings that it takes, names no other, and runs a program that is there', async () => {
    const project = await composed({ ...GIVEN, LOG_LEVEL: 'warn', SIGNUP: 'open' })
    const { services } = project
    for (const [name, { environment, command }] of rolesOf(project)) {
      const known = new Set([...SETTING_NAMES, 'POSTGRES_PASSWORD'])
      expect([...new Set(Object.keys(environment)).difference(known)], name).toEqual([])
      expect(command.map((path) => existsSync(join(ROOT, path)))).toEqual([true])
      const settings =
        name === 'migrate'
          ? readMigrateConfig(environment)
          : readConfig(environment, OWN_PORTS[name])
      expect(settings).toMatchObject({ LOG_LEVEL: 'warn', SIGNUP: 'open' })
      const hosts = [settings.DATABASE_URL, settings.NATS_URL ?? ''].map(
        (url) => new URL(url).hostname,
      )
      expect(hosts).toEqual(['postgresql', 'nats'])
      expect(hosts.filter((host) => services[host] === undefined)).toEqual([])
    }
  })

  test('the API reaches ingest by its service, at the port where it listens', async () => {
    const { services } = await composed(GIVEN)
    const { hostname, port } = new URL(services['api']?.environment['INGEST_SERVICE_URL'] ?? '')
    expect(port).toBe(String(readConfig(services[hostname]?.environment ?? {}).INGEST_PORT))
  })

  test('ports for people and senders are published at the ports where roles listen, on this machine alone unless told', async () => {
    const open = async (env: Readonly<Record<string, string>>) =>
      Object.entries((await composed(env)).services).flatMap(([name, { ports, environment }]) =>
        ports.map(({ target, published, host_ip: on }) => {
          const port = OWN_PORTS[name]
          expect(target).toBe(
            port === 'GATEWAY_PORT' ? 8082 : port && readConfig(environment)[port],
          )
          return `${name} ${on}:${published}`
        }),
      )
    expect(await open(GIVEN)).toEqual([
      'api 127.0.0.1:8080',
      'gateway 127.0.0.1:8082',
      'ingest 127.0.0.1:8081',
    ])
    expect(await open({ ...GIVEN, LISTEN_ON: '192.0.2.1' })).toContain('ingest 192.0.2.1:8081')
  })

  test('no container may write, gain rights, or fill the machine; each comes up again and says how it is', async () => {
    const { services } = await composed(GIVEN)
    for (const [name, service] of Object.entries(services)) {
      expect({ name, ...service }).toMatchObject({
        name,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        restart: name === 'migrate' ? 'on-failure' : 'unless-stopped',
        pids_limit: 512,
        logging: { options: { 'max-size': '10m', 'max-file': '5' } },
      })
      expect(service.healthcheck.disable || service.healthcheck.test.length > 0, name).toBe(true)
      expect(service['privileged'] ?? false).toBe(false)
    }
  })

  test('PostgreSQL and NATS keep their data in volumes, and only roles reach them', async () => {
    const { services, networks } = await composed(GIVEN)
    const inner = Object.keys(networks).filter((name) => networks[name]?.internal)
    expect(inner).toEqual(['servers'])
    for (const name of ['postgresql', 'nats']) {
      expect(services[name]?.volumes).toMatchObject([{ type: 'volume', source: name }])
      expect(Object.keys(services[name]?.networks ?? {})).toEqual(inner)
      expect(services[name]?.ports).toEqual([])
    }
  })

  test('a role starts when the schema is migrated and NATS is there', async () => {
    const project = await composed(GIVEN)
    for (const [name, { depends_on: after }] of rolesOf(project)) {
      expect(after).toMatchObject(
        name === 'migrate'
          ? { postgresql: { condition: 'service_healthy' } }
          : {
              migrate: { condition: 'service_completed_successfully' },
              nats: { condition: 'service_healthy' },
            },
      )
    }
  })

  test('the health check of a role passes where /readyz is 200 and fails where it is 503 or nothing listens', async () => {
    const { services } = await composed(GIVEN)
    const [kind, program, ...args] = services['worker']?.healthcheck.test ?? []
    expect([kind, program]).toEqual(['CMD', 'node'])
    const { createServer } = await import('node:http')
    const statusAt = async (status: number | undefined): Promise<number> => {
      const server = createServer((request, response) =>
        response.writeHead(request.url === '/readyz' ? (status ?? 0) : 404).end(),
      )
      if (status !== undefined) {
        await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
      }
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 1
      const words = args.map((word) => word.replace(':9090', `:${port}`))
      expect(words).not.toEqual(args)
      const passed = await has(process.execPath, ...words)
      server.close()
      return Number(passed)
    }
    expect([await statusAt(200), await statusAt(503), await statusAt(undefined)]).toEqual([1, 0, 0])
  })

  const page = readFileSync(join(ROOT, 'docs/compose.md'), 'utf8')
  const additions = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text)

  test('each addition of docs/compose.md is valid beside it, with settings that roles take', async () => {
    expect(additions.length).toBeGreaterThan(1)
    for (const addition of additions) {
      const env = { ...GIVEN, SMTP_PORT: '2525', SMTP_DOMAIN: 'mail.example.com' }
      const { services } = await composed(env, [addition])
      for (const [name, port] of Object.entries(OWN_PORTS)) {
        readConfig(services[name]?.environment ?? {}, port)
      }
    }
  })
})
