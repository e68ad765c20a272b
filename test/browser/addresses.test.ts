import axe from 'axe-core'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { says, startEndpoint } from '../kit/endpoint.ts'
import { hasChromium, openBrowser, openVisit } from './browser.ts'
import { visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const RULES = "['wcag2a','wcag2aa','wcag21a','wcag21aa','wcag22aa','best-practice']"
const RUN = `axe.run(document, { runOnly: ${RULES} }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).slice(0, 3).join(' | ')))`

const told = inject('dashboard')
let browser: Browser
let addresses: readonly string[] = []

const Listed = z.object({ data: z.array(z.object({ id: z.string() })) })

/** A project in which every page has something to show. */
async function everyAddress(): Promise<string[]> {
  const place = await openPlace(told)
  const endpoint = await startEndpoint(says(500, {}, 'no luck'))
  const source = await place.source('orders')
  const quiet = await place.source('quiet')
  const github = await place.source('github', { verifier: { preset: 'github', secret: 'right' } })
  const retryPolicy = { strategy: 'schedule', scheduleSeconds: [1, 3600] }
  const destination = await place.destination('shop', endpoint.url, { retryPolicy })
  const connection = await place.connection(source.id, destination, {
    filter: { body: { amount: { $gt: 5 } } },
  })
  const event = await place.send(source.ingestUrl, { type: 'order.created', amount: 12 })
  await place.send(source.ingestUrl, { type: 'order.created', amount: 1 })
  await place.send(github.ingestUrl, { type: 'x' }, { 'x-hub-signature-256': 'sha256=00' })
  const connector = z
    .object({ id: z.string() })
    .parse(await place.call('POST', '/connectors', { name: 'office' }))
  const filter = { sourceId: source.id }
  const made = await place.call('POST', '/operations', { kind: 'replay', filter })
  const operation = z.object({ id: z.string() }).parse(made)
  const [delivery] = Listed.parse(await place.call('GET', '/deliveries')).data
  if (delivery === undefined) throw new Error('The event has no delivery')
  const organisation = `/org/${told.organisationId}`
  const here = (path: string) => `/p/${place.projectId}${path}`
  await endpoint[Symbol.asyncDispose]()
  return [
    '/sign-in',
    '/sign-up',
    '/forgot',
    '/setup#token',
    '/invite#token',
    '/reset#token',
    '/me',
    '/nowhere',
    ...['projects', 'members', 'keys', 'agents', 'plan', 'audit'].map(
      (page) => `${organisation}/${page}`,
    ),
    ...[
      '',
      '?range=7d',
      '/start',
      `/start?source=${quiet.id}`,
      `/start?source=${source.id}&event=${event}`,
      `/start?source=${source.id}&event=${event}&destination=${destination}`,
      '/events',
      '/events?live=true',
      '/events?q=nothing',
      `/events/${event}`,
      '/events/evt_00000000000000000000000000',
      '/deliveries',
      `/deliveries/${delivery.id}`,
      '/sources',
      '/sources/new',
      ...['', '?tab=verify', '?tab=rotation', '?tab=settings'].map(
        (tab) => `/sources/${github.id}${tab}`,
      ),
      '/destinations',
      '/destinations/new',
      '/destinations/new?mode=private',
      ...['', '?tab=signing', '?tab=settings'].map((tab) => `/destinations/${destination}${tab}`),
      '/connections',
      '/connections/new',
      ...['', '?tab=settings'].map((tab) => `/connections/${connection}${tab}`),
      '/connectors',
      `/connectors/${connector.id}`,
      '/operations',
      `/operations/${operation.id}`,
      '/alerts',
    ].map(here),
  ]
}

beforeAll(async () => {
  if (!hasChromium) return
  browser = await openBrowser()
  // Makes the owner's account.
  await (await visitAsOwner(browser, told))[Symbol.asyncDispose]()
  addresses = await everyAddress()
})
afterAll(async () => await browser?.close())

const MODES = [
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
  { width: 360, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const

test.skipIf(!hasChromium).for(MODES)(
  'every address is accessible, fits and keeps the policy at $width px, $colorScheme',
  { timeout: 240_000 },
  async ({ width, colorScheme }) => {
    const options = { viewport: { width, height: 800 }, colorScheme }
    await using visit = await visitAsOwner(browser, told, options)
    const { page, faults } = visit
    const bad: string[] = []
    for (const address of addresses) {
      await page.goto(`${told.apiUrl}${address}`)
      await page.locator('h1').first().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      await page.evaluate(axe.source)
      const violations = await page.evaluate<string[]>(RUN)
      bad.push(...violations.map((violation) => `${address} ${violation}`))
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (over > 0) bad.push(`${address} is ${over} px too wide`)
    }
    expect(bad).toEqual([])
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)('a page that does not fit the policy would be seen', async () => {
  await using visit = await openVisit(browser, told.apiUrl)
  const { page, faults } = visit
  await page.goto(`${told.apiUrl}/sign-in`)
  await page.evaluate(
    "document.head.append(Object.assign(document.createElement('style'), { textContent: 'a{}' }))",
  )
  await expect.poll(() => faults.length).toBeGreaterThan(0)
})
