import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { inTurn, says, startEndpoint } from '../kit/endpoint.ts'
import { hasChromium, openBrowser } from './browser.ts'
import { visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

test.skipIf(!hasChromium)(
  'a rejected event leads to the signature debugger, which says why',
  async () => {
    const place = await openPlace(told)
    const source = await place.source('github', { verifier: { preset: 'github', secret: 'right' } })
    await place.send(
      source.ingestUrl,
      { type: 'x' },
      { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
    )
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events?status=rejected'))
    await page.getByRole('row').first().getByRole('link').click()
    await page.getByRole('link', { name: 'Test its signature' }).click()
    await page.getByRole('button', { name: 'Test the signature' }).click()
    await page.getByText('The signature does not belong to these bytes and this secret.').waitFor()
    await page.getByText('signature_mismatch', { exact: true }).waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a filtered event shows the clause that excluded it, beside its own value',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint()
    const source = await place.source('orders')
    const destination = await place.destination('shop', endpoint.url)
    await place.connection(source.id, destination, { filter: { body: { amount: { $gt: 100 } } } })
    const event = await place.send(source.ingestUrl, { type: 'order', amount: 12 })
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at(`/events/${event}`))
    await page.getByRole('link', { name: 'Test the filter' }).click()
    const clause = page.getByRole('row', { name: /body\.amount/ })
    await clause.getByText('no', { exact: true }).waitFor()
    expect(await clause.innerText()).toMatch(/\$gt 100[^]*12/)

    const filter = page.getByLabel('Filter as JSON')
    await filter.fill('{"body":{"amount":')
    await page.getByText('Add a clause').click()
    await page.getByLabel('Path').fill('type')
    await page.getByLabel('Value').fill('order')
    const add = page.getByRole('button', { name: 'Add it' })
    await page.getByText('nothing can be added to it').waitFor()
    expect(await add.isDisabled()).toBe(true)
    await filter.fill('{"body":{"amount":{"$gt":10}}}')
    await add.click()
    await clause.getByText('yes', { exact: true }).waitFor()
    expect(JSON.parse(await filter.inputValue())).toEqual({
      body: { amount: { $gt: 10 }, type: 'order' },
    })
    await page.getByRole('button', { name: 'Save the filter' }).click()
    await page.getByText('The filter is saved').waitFor()
    await place.send(source.ingestUrl, { type: 'order', amount: 12 })
    await expect.poll(() => endpoint.arrivals.length, { timeout: 20_000 }).toBe(1)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)('an unmatched event leads to a new connection', async () => {
  const place = await openPlace(told)
  await using endpoint = await startEndpoint()
  const source = await place.source('lonely')
  await place.destination('shop', endpoint.url)
  const event = await place.send(source.ingestUrl, { type: 'x' })
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(place.at(`/events/${event}`))
  await page.getByRole('link', { name: 'Create a connection' }).click()
  await page.getByLabel('To destination').selectOption('shop')
  await page.getByRole('button', { name: 'Create the connection' }).click()
  await page.getByRole('heading', { name: 'lonely-to-shop' }).waitFor()

  await page.goto(place.at(`/events/${event}`))
  await page.getByRole('button', { name: 'Replay…' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
  await page.getByText('Replayed: 1 new delivery').waitFor()
  await expect.poll(() => endpoint.arrivals.length, { timeout: 20_000 }).toBe(1)
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)(
  'a failed delivery is retried by hand, and its attempts stand in the picture and the table',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint(
      inTurn(says(500, {}, 'no luck'), says(500), says(200)),
    )
    const source = await place.source('orders')
    const retryPolicy = { strategy: 'schedule', scheduleSeconds: [1] }
    const destination = await place.destination('shop', endpoint.url, { retryPolicy })
    await place.connection(source.id, destination)
    const event = await place.send(source.ingestUrl, { type: 'order' })
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at(`/events/${event}`))
    await page.getByText(/^Gave up on shop after 2 attempts/).waitFor()

    await page.getByRole('button', { name: /^Attempt 1, first: failed, 500/ }).click()
    await page.getByText('The endpoint answered with a status that is no success').waitFor()
    await page.getByText('no luck').waitFor()
    expect(new URL(page.url()).hash).toMatch(/^#att_/)

    await page.getByRole('button', { name: 'Retry now' }).click()
    await page.getByText(/^Delivered to 1 of 1 connection/).waitFor()
    await page.getByRole('button', { name: /^Attempt 3, by hand: succeeded/ }).waitFor()
    const table = page.getByRole('table', { name: 'Attempts' })
    expect(await table.getByRole('row').count()).toBe(4)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'everything that a filter matches is replayed, and its page says how far it has come',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint()
    const source = await place.source('orders')
    await place.connection(source.id, await place.destination('shop', endpoint.url))
    for (let number = 0; number < 12; number++)
      await place.send(source.ingestUrl, { type: 'order', number })
    await expect.poll(() => endpoint.arrivals.length, { timeout: 20_000 }).toBe(12)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events'))
    await page.getByRole('combobox', { name: 'Source', exact: true }).selectOption('orders')
    await page.getByRole('button', { name: 'Replay matching…' }).click()
    await page.getByRole('button', { name: 'Replay 12 events' }).click()
    await page.getByText('12 of 12 events').waitFor()
    await page.getByText('Completed').waitFor()
    await expect.poll(() => endpoint.arrivals.length, { timeout: 30_000 }).toBe(24)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)('an id that is pasted anywhere leads to its page', async () => {
  const place = await openPlace(told)
  const source = await place.source('orders')
  const event = await place.send(source.ingestUrl, { type: 'order.created' })
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(told.apiUrl)
  await page.getByRole('heading', { name: 'Your first webhook' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Page or id' }).fill(event)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'order.created' }).waitFor()
  expect(page.url()).toBe(place.at(`/events/${event}`))
  expect(faults).toEqual([])
})
