import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { inTurn, says, startEndpoint } from '../kit/endpoint.ts'
import { hasChromium, openBrowser } from './browser.ts'
import { OWNER, visitAsMember, visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

const saved = async (page: Page) => await page.getByText('Saved', { exact: true }).first().waitFor()

test.skipIf(!hasChromium)('a source is renamed, bounded and told its event type', async () => {
  const place = await openPlace(told)
  const source = await place.source('orders')
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(place.at(`/sources/${source.id}?tab=settings`))
  await page.getByLabel('Name', { exact: true }).fill('invoices')
  await page.getByLabel('Where the event type stands').fill('header.x-kind')
  await page.getByLabel('Idempotency keys, each on a line').fill('body.id\nheader.x-id')
  await page.getByLabel('Largest body in KiB').fill('64')
  await page.getByLabel('GET', { exact: true }).check()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await saved(page)
  expect(await place.call('GET', `/sources/${source.id}`)).toMatchObject({
    name: 'invoices',
    eventTypeField: 'header.x-kind',
    idempotencyKeys: ['body.id', 'header.x-id'],
    maxPayloadSizeKb: 64,
    allowedMethods: expect.arrayContaining(['GET', 'POST']),
  })
  await page.getByLabel('Largest body in KiB').fill('0')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.fault').first().waitFor()
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)(
  'a destination gets credentials, a pace and retries; a test delivery shows that they are used',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint(says(202, {}, 'taken'))
    const id = await place.destination('shop', endpoint.url)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at(`/destinations/${id}?tab=settings`))
    await page.getByLabel('Authentication').selectOption('bearer')
    await page.getByLabel('Token', { exact: true }).fill('hunter2')
    await page.getByLabel('Waits for an answer, in ms').fill('5000')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await saved(page)
    await page.getByLabel('Deliveries', { exact: true }).fill('20')
    await page.getByLabel('in a').selectOption('minute')
    await page.getByLabel('Attempts at once').fill('3')
    await page.getByRole('button', { name: 'Save the pace' }).click()
    await expect
      .poll(() => place.call('GET', `/destinations/${id}`))
      .toMatchObject({ rateLimit: 20, rateLimitPeriod: 'minute', maxConcurrency: 3 })
    await page.getByLabel('Delays').selectOption('schedule')
    const schedule = page.getByLabel('Seconds before each retry')
    await schedule.fill('1')
    await schedule.pressSequentially(', 60')
    await page.getByRole('button', { name: 'Save the retries' }).click()
    await expect
      .poll(() => place.call('GET', `/destinations/${id}`))
      .toMatchObject({
        timeoutMs: 5000,
        auth: { type: 'bearer' },
        retryPolicy: { strategy: 'schedule', scheduleSeconds: [1, 60], maxAttempts: 3 },
      })

    await page.goto(place.at(`/destinations/${id}`))
    await page.getByLabel('Body as JSON').fill('{"type":"test","n":7}')
    await page.getByRole('button', { name: 'Send it now' }).click()
    await page.getByText('taken').waitFor()
    expect(endpoint.arrivals).toHaveLength(1)
    expect(endpoint.arrivals[0]?.headers['authorization']).toBe('Bearer hunter2')
    expect(await page.content()).not.toContain('hunter2')
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)('a signing secret is shown, rotated, and shown anew', async () => {
  const place = await openPlace(told)
  const id = await place.destination('shop', 'http://127.0.0.1:9')
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(place.at(`/destinations/${id}?tab=signing`))
  const show = page.getByRole('button', { name: 'Show the signing secret' })
  const secrets = page.getByText(/^whsec_/)
  await show.click()
  const former = await secrets.innerText()
  await page.getByRole('button', { name: 'Rotate the signing secret…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  await page.getByText('A rotation is under way').waitFor()
  expect(await secrets.count()).toBe(0)
  await show.click()
  await page.getByText('signed with the previous one too').waitFor()
  const [present, previous] = await secrets.allInnerTexts()
  expect(previous).toBe(former)
  expect(present).not.toBe(former)
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)(
  'failed deliveries are retried in bulk, and waiting ones cancelled in bulk',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint(inTurn(says(500), says(500), says(200)))
    const source = await place.source('orders')
    const quick = { retryPolicy: { strategy: 'exponential', maxAttempts: 1 } }
    await place.connection(source.id, await place.destination('shop', endpoint.url, quick))
    for (const number of [1, 2]) await place.send(source.ingestUrl, { type: 'order', number })
    const failed = z.object({ data: z.array(z.unknown()).length(2) })
    await expect
      .poll(
        async () => failed.safeParse(await place.call('GET', '/deliveries?status=failed')).success,
        {
          timeout: 20_000,
        },
      )
      .toBe(true)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/deliveries?status=failed'))
    await page.getByRole('button', { name: 'Retry matching…' }).click()
    const plan = page.getByRole('table', { name: 'By destination' })
    await plan.getByRole('row', { name: /^shop 2 not paced$/ }).waitFor()
    await page.getByText('Nothing paces the deliveries').waitFor()
    await page.getByRole('button', { name: 'Retry 2 deliveries' }).click()
    await page.getByText('2 of 2 deliveries').waitFor()
    await expect.poll(() => endpoint.arrivals.length, { timeout: 30_000 }).toBe(4)

    const slow = { retryPolicy: { strategy: 'schedule', scheduleSeconds: [3600] } }
    const closed = await place.destination('closed', 'http://127.0.0.1:9', slow)
    await place.connection(source.id, closed)
    await place.send(source.ingestUrl, { type: 'order', number: 3 })
    await page.goto(place.at(`/deliveries?status=pending&destination=${closed}`))
    await page.getByRole('row').first().waitFor()
    await page.getByRole('button', { name: 'Cancel matching…' }).click()
    await plan.getByRole('row', { name: /^closed 1$/ }).waitFor()
    await page.getByRole('button', { name: 'Cancel 1 delivery' }).click()
    await page.getByText('1 of 1 delivery').waitFor()
    await page.goto(place.at(`/deliveries?status=cancelled`))
    await page.getByRole('row').first().waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a replay in bulk is planned before it begins: since when, where to, how long, and what it uses',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint(says(200))
    const source = await place.source('orders')
    const paced = { rateLimit: 2, rateLimitPeriod: 'minute' }
    const slow = await place.destination('slow', endpoint.url, paced)
    const picky = await place.destination('picky', endpoint.url)
    const idle = await place.destination('idle', endpoint.url)
    await place.connection(source.id, slow)
    await place.connection(source.id, picky, { filter: { body: { number: 1 } } })
    await place.connection(source.id, idle)
    await place.call('POST', `/destinations/${idle}/toggle`, { isEnabled: false })
    for (const number of [1, 2, 3, 4, 5]) {
      await place.send(source.ingestUrl, { type: 'order', number })
    }
    const guarded = await place.source('guarded', {
      verifier: { preset: 'github', secret: 'not told' },
    })
    await fetch(guarded.ingestUrl, { method: 'POST', body: '{}' })
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events?from=2026-01-01T00:00:00.000Z'))
    await page.getByRole('button', { name: 'Replay matching…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Left out: 1 event never verified.').waitFor()
    await dialog.getByText(/^From \d.* to \d/).waitFor()
    await dialog.getByRole('row', { name: /^idle / }).waitFor()
    const rows = await dialog.getByRole('row').allInnerTexts()
    expect(rows.map((row) => row.replaceAll(/\s+/g, ' ')).toSorted()).toEqual([
      'Destination At most At its pace',
      'idle 5 waits until it is enabled',
      'picky 5 not paced',
      'slow 5 about 2 min',
    ])
    await dialog.getByText('At present pacing about 2 min, if nothing else is sent.').waitFor()
    await dialog.getByText('It uses at most 15 deliveries of the quota.').waitFor()
    await dialog.getByRole('button', { name: 'Replay 6 events' }).click()
    await page.getByText('6 of 6 events').waitFor()
    await page.getByText('1 of them refused').waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a member becomes an admin at once, changes the password, and is removed',
  async () => {
    const email = `di-${Date.now()}@example.com`
    await using member = await visitAsMember(browser, told, email)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    const audit = `${told.apiUrl}/org/${told.organisationId}/audit`
    await member.page.goto(audit)
    await member.page.getByText('You may not see this').waitFor()
    await page.goto(`${told.apiUrl}/org/${told.organisationId}/members`)
    const row = page.getByRole('row', { name: email })
    await row.getByRole('combobox').selectOption('admin')
    await row.getByRole('button', { name: 'Save' }).click()
    await row.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' })
    await member.page.goto(audit)
    await member.page.getByText('member update').first().waitFor()

    await member.page.goto(`${told.apiUrl}/me`)
    await member.page.getByLabel('Present password').fill('wrong')
    await member.page.getByLabel('New password').fill('another long password')
    await member.page.getByRole('button', { name: 'Change the password' }).click()
    await member.page.getByText('Is not your password').first().waitFor()
    await member.page.getByLabel('Present password').fill(OWNER.password)
    await member.page.getByRole('button', { name: 'Change the password' }).click()
    await member.page.getByText('The password is changed').waitFor()

    await row.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await row.waitFor({ state: 'detached' })
    expect([...faults, ...member.faults]).toEqual([])
  },
)

test.skipIf(!hasChromium)('a key is rescoped, and may no more than was chosen', async () => {
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  const name = `scoped ${Date.now()}`
  await page.goto(`${told.apiUrl}/org/${told.organisationId}/keys`)
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Make the key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Copy the key now' })
  const key = await dialog.getByText(/^pst_/).innerText()
  await dialog.getByLabel('I have stored it').check()
  await dialog.getByRole('button', { name: 'Done' }).click()
  const ask = async (path: string) =>
    (await fetch(`${told.apiUrl}/v1${path}`, { headers: { authorization: `Bearer ${key}` } }))
      .status
  expect(await ask('/sources')).toBe(200)
  const row = page.getByRole('row', { name })
  await row.getByRole('button', { name: 'Rescope…' }).click()
  for (const resource of ['projects', 'sources', 'destinations', 'connections', 'connectors']) {
    await page.getByLabel(`Level of ${resource}`).selectOption('none')
  }
  await page.getByLabel('Level of events').selectOption('read')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await row.getByText('events read').waitFor()
  expect([await ask('/events'), await ask('/sources')]).toEqual([200, 403])
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)('a smaller plan is chosen for later, and taken back', async () => {
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(`${told.apiUrl}/org/${told.organisationId}/plan`)
  const change = async (plan: string) => {
    await page.getByRole('button', { name: `To ${plan}…` }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Change to ${plan}` })
      .click()
  }
  // Without a subscription the first choice begins at once, and so does a larger plan.
  for (const plan of ['scale', 'enterprise']) {
    await change(plan)
    await page.getByRole('heading', { name: `The ${plan} plan grants` }).waitFor()
  }
  await change('scale')
  await page.getByText(/^From .* on: scale\.$/).waitFor()
  await page.getByRole('button', { name: 'Take it back…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
  await page.getByText(/^From .* on: scale\.$/).waitFor({ state: 'detached' })
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)(
  'bars of the overview are narrowed by a drag and by two moments, and open their events',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint()
    const source = await place.source('orders')
    await place.connection(source.id, await place.destination('shop', endpoint.url))
    await place.send(source.ingestUrl, { type: 'order' })
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('?range=1h'))
    const piles = page.locator('.bars-chart .pile')
    await piles.nth(50).waitFor()
    await piles.nth(20).hover()
    await page.mouse.down()
    await piles.nth(40).hover()
    await page.mouse.up()
    await page.waitForURL(/[?&]from=.*to=/)
    await expect.poll(() => piles.count()).toBe(21)
    const from = page.getByLabel('From', { exact: true })
    await from.waitFor()
    const bounds = new URL(page.url()).searchParams
    const spanMs = Date.parse(bounds.get('to') ?? '') - Date.parse(bounds.get('from') ?? '')
    expect(spanMs).toBe(21 * 60_000)
    await page.getByRole('slider').focus()
    expect(await page.locator('.bars-chart .pile.chosen').count()).toBe(0)
    await page.keyboard.press('Home')
    // A pointer that rested on the chart leaves it, as it does when the page grows above: the keys' choice stays.
    await page.mouse.move(0, 0)
    await page.keyboard.press('Shift+ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Events', exact: true }).waitFor()
    const chosen = new URL(page.url()).searchParams
    expect(Date.parse(chosen.get('to') ?? '') - Date.parse(chosen.get('from') ?? '')).toBe(120_000)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)('a project is made, opened, renamed and deleted', async () => {
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  const list = `${told.apiUrl}/org/${told.organisationId}/projects`
  const name = `a shop ${Date.now()}`
  await page.goto(list)
  await page.getByRole('button', { name: 'New project' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name, exact: true }).click()
  // Without an event the overview leads there as soon as it knows.
  await page.waitForURL(/\/p\/prj_[0-9a-z]{26}\/start$/)

  await page.getByRole('link', { name: 'Projects' }).click()
  await page.getByRole('row', { name }).getByRole('button', { name: 'Rename…' }).click()
  await page.getByLabel('Name', { exact: true }).fill(`${name} two`)
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row', { name: `${name} two` })
  await row.getByRole('button', { name: 'Delete…' }).click()
  await page.getByLabel('to go on').fill(`${name} two`)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await row.waitFor({ state: 'detached' })
  expect(faults).toEqual([])
})
