import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
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
    /^billing-events → http\S+$/m,
    /^globex → http\S+$/m,
    /^partner-events → http\S+$/m,
    'made globex -> globex-billing',
    'left out globex-billing: the value of its header authorization',
    'left out globex-ep_2c: its transformation',
    'left out stripe-live: its check of the type stripe',
    'made partner-events -> warehouse',
    'made partner-events -> reports',
    'left out order-queue: sources of the type pub_sub',
    'left out german-orders: its function',
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
    ledger: { rateLimit: 5, retryPolicy: { strategy: 'exponential', initialDelaySeconds: 60 } },
    'globex-billing': { rateLimit: 5, headers: { 'x-tenant': '***' }, isEnabled: true },
    'globex-ep_2c': { isEnabled: false },
    'stripe-live-shop': { url: 'https://shop.example.com/stripe' },
    warehouse: {
      rateLimit: 300,
      rateLimitPeriod: 'minute',
      timeoutMs: 20_000,
      headers: { 'x-key': '***' },
      retryPolicy: { initialDelaySeconds: 60, maxDelaySeconds: 60, maxAttempts: 4 },
    },
    reports: { rateLimit: 42, isEnabled: false, retryPolicy: { maxAttempts: 6 } },
  },
  connections: {
    'invoices-to-ledger': { filter: { body: { type: { $startsWith: 'invoice.' } } } },
    'globex-billing': { filter: { eventTypes: ['invoice.paid', 'invoice.voided'] } },
    'globex-ep_2c': { filter: { headers: { 'event-channel': { $in: ['beta'] } } } },
    'stripe-live-shop': { filter: null },
    'large-orders': { filter: { body: { order: { total: { $gte: 100 } } } } },
    'german-orders': { filter: { body: { order: { country: 'DE' } } } },
  },
  sources: {
    globex: { eventTypeField: 'header.event-type' },
    'partner-events': {
      verifier: { algorithm: 'sha512', signature: { names: ['X-Partner-Signature'] } },
      idempotencyKeys: ['header.X-Partner-Id'],
    },
  },
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
      expect(['any-test', 'order-queue'].filter((name) => found.has(name))).toEqual([])
    }
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
