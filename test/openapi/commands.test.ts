import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { waitFor } from '../../standalone/processes/os-process.ts'
import { startRelay, type Relay } from '../faults/relay.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { ROOT } from '../kit/source-files.ts'

const Told = z.object({ apiUrl: z.url(), apiKey: z.string(), setupUrl: z.string() })
const Events = z.object({
  data: z.array(z.looseObject({ status: z.string(), verifiedWith: z.string().nullish() })),
})
const Connectors = z.object({ data: z.array(z.looseObject({ onlineReplicas: z.int() })) })
const WITHIN_MS = 60_000

/** The commands of a page that a reader pastes one after the other: its blocks marked `sh run`. */
function commandsOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^( *)```sh run\n(.*?)^\1```/gms)].map(([, , code = '']) => code)
}

const DOCS = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.startsWith('site/'))
  .map((name) => `docs/${name}`)
/** In this order: a page may need what an earlier one has made. */
const FIRST = ['README.md', 'docs/start.md', 'docs/delivery.md', 'docs/recover.md']
const PAGES = [...FIRST, ...DOCS.filter((page) => !FIRST.includes(page)).toSorted()].filter(
  (page) => commandsOf(page).length > 0,
)

/** Texts that the commands of a page print, among others. */
const PRINTED: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'docs/start.md': ['"sentence":"Delivered to 1 of 1 connection', '"cause":"connector_offline"'],
  'README.md': [/^http:\S+\/\w{26}$/m, '"eventTypes":["invoice.*"]'],
  'docs/delivery.md': [
    '"scheduleSeconds":[60,3600,21600,86400,86400,57600],"maxAttempts":7',
    '"kind":"cancel"',
    '"maxConcurrency":4',
    '"lastError":"connection_refused"',
    '"trigger":"manual"',
    /"matched":[1-9]/,
  ],
  'docs/recover.md': [/(?:.*?"kind":"(?:retry|replay)"){14}/s],
  'docs/filters.md': [
    'body.amount.$gte',
    '"filter":{"body":{"amount":{"$gte":100}}}',
    '"filter":null',
  ],
  'docs/event-stream.md': ['event: ready'],
  'docs/agents.md': ['"data":[', '"project":{'],
  'docs/migrating.md': [
    'made billing-events -> ledger',
    'made shop-events -> ledger',
    'made shop-events -> archive, off',
    'left out billing-events: its check of the type STRIPE',
    'left out archive: its authentication BEARER_TOKEN',
    'left out archive: its delivery groups',
    'left out shop-events-refunds: its filter looks at the path',
    /^billing-events → http\S+$/m,
    /^globex → http\S+$/m,
    /^initech → http\S+$/m,
    /^partner-events → http\S+$/m,
    'made globex -> globex-billing',
    'made globex -> globex-ep_2c, off',
    'left out globex-billing: the value of its header authorization',
    'left out globex-ep_2c: its transformation',
    'left out globex: its Advanced Destination dest_2g, amazonS3',
    'left out stripe-live: its check of the type stripe',
    'left out nightly-src_2i: its schedule 0 3 * * *',
    'made partner-events -> warehouse',
    'made partner-events -> reports, off',
    'left out order-queue: sources of the type pub_sub',
    'left out reports: its timeout of 90 s',
    'left out german-orders: its function',
    'left out first-item: its filter looks at one item of a list, order.items.0.sku',
    'left out parcels-01U5: its delivery mode at_most_once',
    'left out parcels-01U6: its own rate limit',
    /left out any-test: .*\$regex/,
  ],
  'docs/receivers.md': ['"whsec_', '"responseStatus":200', /^200$/m],
  'docs/providers/own-scheme.md': [/"ok":true.*401$.*"ok":true/ms, '"valid":true'],
  'docs/providers/meta.md': ['"ok":true', '1158201444'],
  'docs/providers/adyen.md': ['[accepted]'],
  'docs/providers/slack.md': [/^HTTP\/1\.1 200/m],
  'docs/providers/twilio.md': ['<Response/>'],
}
const STREAM = 'docs/event-stream.md'
/** Only their providers can sign a request. */
const UNSIGNED = new Set(['none', 'aws-sns', 'discord', 'paypal', 'sendgrid'])

let stack: AsyncDisposableStack
let cwd: string
let relay: Relay
let env: Record<string, string>

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  cwd = stack.use(scratch(IN_MEMORY)).path
  relay = stack.use(await startRelay({ DATA_DIR: join(cwd, '.postern'), SMTP_PORT: '0' }))
  const { apiUrl, apiKey, setupUrl } = Told.parse(
    JSON.parse(readFileSync(join(cwd, '.postern/standalone.json'), 'utf8')),
  )
  env = { API: apiUrl, KEY: apiKey }
  await makeOwner(apiUrl, setupUrl)
}, 120_000)
afterAll(async () => await stack.disposeAsync())

/** The member whose agent the page about agents makes. */
async function makeOwner(apiUrl: string, setupUrl: string): Promise<void> {
  const [, token] = setupUrl.split('#')
  const password = 'correct horse battery staple'
  const answer = await fetch(`${apiUrl}/auth/setup`, {
    method: 'POST',
    headers: { origin: new URL(apiUrl).origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token, email: 'ada@example.com', name: 'Ada', password }),
  })
  expect(answer.status).toBe(201)
}

/** The repository is elsewhere: the reader is in it, and npm would go there. */
function inPlace(command: string): string {
  const programs = { admin: 'api/admin/main.ts', connector: 'connector-agent/main.ts' }
  return Object.entries(programs).reduce(
    (text, [name, file]) =>
      text.replaceAll(
        new RegExp(`npm run (?:--silent )?${name} --`, 'g'),
        `${process.execPath} ${join(ROOT, file)}`,
      ),
    command,
  )
}

async function run(page: string): Promise<string> {
  const bash = ['-euo', 'pipefail', '-c', inPlace(commandsOf(page).join('\n'))]
  const options = { cwd, env: { ...process.env, ...env }, timeout: WITHIN_MS }
  if (page !== STREAM) return (await promisify(execFile)('bash', bash, options)).stdout
  // A stream goes on until its reader leaves.
  const left = promisify(execFile)('timeout', ['3', 'bash', ...bash], options)
  return await left.then(
    ({ stdout }) => stdout,
    (error: unknown) => z.object({ code: z.literal(124), stdout: z.string() }).parse(error).stdout,
  )
}

test.each(PAGES)(
  'the commands of %s do what the page says',
  { timeout: WITHIN_MS },
  async (page) => {
    const stdout = await run(page)
    const printed = PRINTED[page] ?? []
    expect(printed.filter((text) => !isIn(text, stdout)).map((text) => [text, stdout])).toEqual([])
  },
)

const isIn = (text: string | RegExp, stdout: string): boolean =>
  typeof text === 'string' ? stdout.includes(text) : text.test(stdout)

/** Members of what the samples of the page about other relays hold, by its name. */
const MOVED = {
  destinations: {
    ledger: {
      rateLimit: 5,
      retryPolicy: { strategy: 'exponential', initialDelaySeconds: 60, maxAttempts: 6 },
    },
    archive: { method: 'PUT', maxConcurrency: 3, retryPolicy: { maxAttempts: 1 } },
    'globex-billing': { rateLimit: 5, headers: { 'x-tenant': '***' } },
    'globex-ep_2c': { isEnabled: true },
    'stripe-live-shop': { url: 'https://shop.example.com/stripe' },
    warehouse: {
      rateLimit: 300,
      rateLimitPeriod: 'minute',
      timeoutMs: 20_000,
      headers: { 'x-key': '***' },
      retryPolicy: { initialDelaySeconds: 60, maxDelaySeconds: 60, maxAttempts: 3 },
    },
    reports: {
      rateLimit: 42,
      isEnabled: true,
      timeoutMs: 60_000,
      retryPolicy: { maxAttempts: 5 },
    },
  },
  connections: {
    'billing-events-to-ledger': {
      isEnabled: true,
      filter: { body: { type: { $startsWith: 'invoice.' } } },
    },
    'shop-events-to-ledger': {
      filter: {
        headers: { 'x-shop': 'berlin' },
        body: { $and: [{ paid: true }, { total: { $gt: 0 } }] },
      },
    },
    'shop-events-archive': { isEnabled: false, filter: null },
    'globex-billing': {
      isEnabled: true,
      filter: { eventTypes: ['invoice.paid', 'invoice.voided'] },
    },
    'globex-ep_2c': {
      isEnabled: false,
      filter: { headers: { 'event-channels': { $or: [{ $in: ',beta,' }, { $in: ',eu,' }] } } },
    },
    'stripe-live-shop': { filter: null },
    'large-orders': {
      isEnabled: true,
      filter: {
        body: {
          $and: [
            { order: { total: { $gte: 100 } } },
            { $not: { type: { $in: ['order.cancelled'] } } },
          ],
        },
      },
    },
    'large-orders 2': {
      filter: { eventTypes: ['order.cancelled'], body: { order: { items: { sku: 'A1' } } } },
    },
    'german-orders': { isEnabled: false, filter: { body: { order: { country: 'DE' } } } },
    'parcels-01U5': { filter: null },
    'parcels-01U6': { filter: null },
  },
  sources: {
    'billing-events': { allowedMethods: ['POST', 'PUT'] },
    globex: { eventTypeField: 'header.event-type' },
    'nightly-src_2i': {},
    'nightly-src_2j': {},
    'partner-events': {
      eventTypeField: 'body.type',
      verifier: { algorithm: 'sha512', signature: { names: ['X-Partner-Signature'] } },
      idempotencyKeys: ['header.X-Partner-Id'],
      ingestResponse: { kind: 'static', body: 'taken', contentType: 'text/plain' },
    },
    'carrier-01S3': { isEnabled: true },
    'carrier-01S4': { isEnabled: false },
  },
}
/** Things of the samples that are not made. */
const LEFT_OUT = [
  'shop-events-refunds',
  'any-test',
  'first-item',
  'large-orders 3',
  'order-queue',
  'to-ledger',
  'parcels',
  'nightly',
  'carrier',
]

/** A project of Convoy that sends: its customers have no source, and an endpoint may have no subscription. */
const OUTGOING = {
  project: {
    type: 'outgoing',
    config: { strategy: { type: 'linear', duration: 5, retry_count: 0 } },
  },
  sources: [],
  endpoints: ['01E8', '01E9'].map((uid) => ({
    uid,
    name: `umbrella-${uid}`,
    owner_id: 'umbrella',
    url: `https://umbrella.example.com/${uid}`,
    status: 'active',
  })),
  subscriptions: [
    {
      uid: '01U8',
      name: 'umbrella-all',
      endpoint_metadata: { uid: '01E8' },
      filters: [
        { event_type: '*', headers: { 'x-live': '1' } },
        { event_type: 'order.paid', raw_query: { shop: 'berlin' } },
      ],
    },
    {
      uid: '01U9',
      name: 'umbrella-none',
      endpoint_metadata: { uid: '01E8' },
      filters: [{ event_type: '*', enabled_at: null }],
    },
  ],
}
const Named = z.object({
  data: z.array(z.looseObject({ name: z.string() })),
  nextCursor: z.string().nullable(),
})

test(
  'the configuration of other relays is there after the scripts, and after a second run of them',
  { timeout: WITHIN_MS },
  async () => {
    await run('docs/migrating.md')
    for (const [kind, expected] of Object.entries(MOVED)) {
      const found = await allOf(kind)
      for (const [name, members] of Object.entries(expected)) {
        expect(found.get(name), name).toMatchObject(members)
      }
      expect(LEFT_OUT.filter((name) => found.has(name))).toEqual([])
    }
  },
)

test(
  'the customers of an outgoing project of Convoy are sources, and each of its endpoints has a connection',
  { timeout: WITHIN_MS },
  async () => {
    writeFileSync(join(cwd, 'outgoing.json'), JSON.stringify(OUTGOING))
    const script = ['from-convoy.mjs', 'outgoing.json']
    const options = { cwd, env: { ...process.env, ...env }, timeout: WITHIN_MS }
    const { stdout } = await promisify(execFile)(process.execPath, script, options)
    expect(stdout).toContain('left out umbrella-none: each of its filters is off')
    expect(stdout).toMatch(/^umbrella → http\S+$/m)
    const connections = await allOf('connections')
    expect(connections.get('umbrella-all')).toMatchObject({
      filter: {
        headers: { $and: [{ 'x-live': '1' }, { $not: { 'event-type': { $in: ['order.paid'] } } }] },
      },
    })
    expect(connections.get('umbrella-all 2')).toMatchObject({
      filter: { eventTypes: ['order.paid'], query: { shop: 'berlin' } },
    })
    expect(connections.get('umbrella-01E9')).toMatchObject({ filter: null, isEnabled: true })
    expect(connections.has('umbrella-none')).toBe(false)
    const destinations = await allOf('destinations')
    expect(destinations.get('umbrella-01E9')).toMatchObject({ retryPolicy: { maxAttempts: 1 } })
  },
)

async function allOf(kind: string): Promise<Map<string, object>> {
  const found = new Map<string, object>()
  for (let cursor: string | null = ''; cursor !== null;) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`
    const list = Named.parse(await relay.api('GET', `/v1/${kind}?limit=100${from}`))
    for (const one of list.data) found.set(one.name, one)
    cursor = list.nextCursor
  }
  return found
}

const PROVIDERS = PAGES.flatMap((page) => {
  const [, name = 'none'] = /^docs\/providers\/([\w-]+)\.md$/.exec(page) ?? []
  const presets = readFileSync(join(ROOT, page), 'utf8').matchAll(/<!-- facts (\w+)/g)
  return UNSIGNED.has(name) ? [] : [...presets].slice(0, 1).map(([, preset = '']) => preset)
})

test('the signed request of each provider was accepted', async () => {
  expect(PROVIDERS.length).toBeGreaterThanOrEqual(16)
  const list = Events.parse(await relay.api('GET', '/v1/events?limit=100'))
  const known = list.data.filter(({ status }) => status !== 'rejected')
  const accepted = new Set(known.map(({ verifiedWith }) => verifiedWith))
  expect(PROVIDERS.filter((preset) => !accepted.has(preset))).toEqual([])
})

test(
  'the agent of Start connects with the key that the page has made',
  async () => {
    const text = readFileSync(join(ROOT, 'docs/start.md'), 'utf8')
    const [, command = ''] = /```sh\n(npm run connector -- .*?)```/s.exec(text) ?? []
    const script = `exec ${inPlace(command)}`
    const agent = spawn('bash', ['-euc', script], {
      cwd,
      env: { ...process.env, ...env },
      stdio: 'ignore',
    })
    try {
      const isOnline = await waitFor(async () => {
        const { data } = Connectors.parse(await relay.api('GET', '/v1/connectors'))
        return data.some(({ onlineReplicas }) => onlineReplicas > 0)
      }, WITHIN_MS)
      expect(isOnline).toBe(true)
    } finally {
      agent.kill()
    }
  },
  WITHIN_MS,
)
