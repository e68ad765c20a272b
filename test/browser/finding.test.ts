import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { hasChromium, openBrowser } from './browser.ts'
import { visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const SOON = { timeout: 20_000 }
/** Six pages of a list. */
const MANY = 300
const SENDERS = 20
/** A busy page hears of several frames at once, the oldest first. */
const HEARS_LATE = `{
  const Prompt = IntersectionObserver
  IntersectionObserver = class extends Prompt {
    constructor(hear, options) {
      let gathered = []
      super((entries) => {
        if (gathered.length === 0) setTimeout(() => hear(gathered.splice(0)), 200)
        gathered.push(...entries)
      }, options)
    }
  }
}`

/** Answers when all that was watched before has been heard of. */
const HEARD = 'new Promise((hear) => new IntersectionObserver(hear).observe(document.body))'

/** The words of the control that has the focus, or of its label. */
const FOCUSED = "(document.activeElement.closest('label') ?? document.activeElement).textContent"

/** Values that the text field of a filter offers. */
const HINTS = "[...document.querySelector('datalist').options].map(({ value }) => value)"

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

test.skipIf(!hasChromium)(
  'the palette finds a source by its name, and does what needs no page',
  async () => {
    const place = await openPlace(told)
    await place.source('orders of the north')
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events'))
    await page.getByRole('heading', { name: 'Events', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Page or id' })
    await field.fill('theme: dark')
    await page.getByRole('option', { name: 'Theme: dark' }).waitFor()
    await page.keyboard.press('Enter')
    await page.locator('html[data-theme=dark]').waitFor()
    await page.keyboard.press('Control+k')
    await field.fill('of the north')
    await page.getByRole('option', { name: 'Source orders of the north' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'orders of the north' }).waitFor()
    await expect.poll(() => page.title(), SOON).toBe('orders of the north · Postern')
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a filter that hides everything is dropped where that is said, and the keys lead to filters and actions',
  async () => {
    const place = await openPlace(told)
    const source = await place.source('orders')
    await place.source('empty')
    await place.send(source.ingestUrl, { type: 'order.created' })
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events?status=unmatched&from=2999-01-01T00:00:00.000Z'))
    await page.getByRole('heading', { name: 'No events match' }).waitFor()
    await page.getByRole('button', { name: 'Look at the last 7 days' }).click()
    await page.getByText('order.created').waitFor()
    expect(new URL(page.url()).searchParams.get('status')).toBe('unmatched')

    await page.keyboard.press('f')
    await expect.poll(() => page.evaluate<string>(FOCUSED), SOON).toContain('Status')
    await page.getByRole('combobox', { name: 'Source', exact: true }).selectOption('empty')
    await page.getByRole('button', { name: 'Without Source: empty' }).click()
    await page.getByText('order.created').waitFor()
    await page.getByRole('heading', { name: 'Events', exact: true }).click()
    await page.keyboard.press('.')
    await expect.poll(() => page.evaluate<string>(FOCUSED), SOON).toBe('Replay matching…')
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'events are narrowed to a type, or to types that begin alike, in the list, in the live tail and in bulk',
  async () => {
    const place = await openPlace(told)
    const source = await place.source('orders')
    for (const type of ['invoice.paid', 'invoice.sent', 'order_made']) {
      await place.send(source.ingestUrl, { type })
    }
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events'))
    const rows = page.getByRole('row')
    await expect.poll(() => rows.count(), SOON).toBe(3)
    const type = page.getByLabel('Type', { exact: true })
    expect(await page.evaluate(HINTS)).toEqual(['invoice.paid', 'invoice.sent', 'order_made'])
    await type.fill('invoice.*')
    await type.press('Enter')
    await expect.poll(() => rows.count(), SOON).toBe(2)
    expect(new URL(page.url()).searchParams.get('type')).toBe('invoice.*')
    await page.getByRole('button', { name: 'Replay matching…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Replay 2 events' }).waitFor()
    await dialog.getByText('invoice.*').waitFor()
    await dialog.getByRole('button', { name: 'Leave it' }).click()

    await page.getByRole('button', { name: 'Follow live' }).click()
    await page.getByText('Live: 0 new events').waitFor()
    await place.send(source.ingestUrl, { type: 'order_made' })
    await place.send(source.ingestUrl, { type: 'invoice.void' })
    await page.getByText('invoice.void').waitFor()
    await page.getByText('Live: 1 new event').waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()

    await type.fill('in*voice')
    await type.press('Enter')
    expect(await type.evaluate((field) => field.matches(':invalid'))).toBe(true)
    await type.press('Tab')
    expect(await type.evaluate((field) => field.matches(':focus'))).toBe(false)
    await page.getByRole('button', { name: 'Follow live' }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    expect(new URL(page.url()).searchParams.get('type')).toBe('invoice.*')
    await type.fill('order_lost')
    await type.press('Tab')
    await page.getByRole('button', { name: 'Without Type: order_lost' }).click()
    await expect.poll(() => rows.count(), SOON).toBe(5)
    await page.goto(place.at('/events?type=a*b&status=lost&more=1'))
    await expect.poll(() => rows.count(), SOON).toBe(5)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'waiting deliveries are chosen and cancelled, and the overview has shown them',
  async () => {
    const place = await openPlace(told)
    const source = await place.source('orders')
    const retryPolicy = { strategy: 'schedule', scheduleSeconds: [3600] }
    const closed = await place.destination('closed', 'http://127.0.0.1:9', { retryPolicy })
    await place.connection(source.id, closed)
    for (const number of [1, 2, 3]) await place.send(source.ingestUrl, { type: 'order', number })
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('?range=1h'))
    const chart = page.getByRole('img', {
      name: /^Backlog: waiting 3 at most, age of the oldest \d/,
    })
    await chart.waitFor()

    await page.goto(place.at('/deliveries?status=pending'))
    const rows = page.getByRole('row')
    await rows.nth(2).waitFor()
    await rows.nth(0).getByRole('checkbox').check()
    await rows.nth(1).getByRole('checkbox').check()
    await page.getByRole('button', { name: 'Cancel selected…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 2 deliveries' }).click()
    await page.getByText('Cancelled 2 deliveries').waitFor()
    await expect.poll(() => rows.count(), SOON).toBe(1)
    await page.goto(place.at('?range=1h'))
    await chart.waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)('an event that is past retention says when it was purged', async () => {
  const place = await openPlace(told)
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  // Made on 1 January 2024.
  await page.goto(place.at('/events/evt_01hk2ea8g000000000000000a0'))
  await page.getByRole('heading', { name: 'The event was not found' }).waitFor()
  await page.getByText(/^Its id is of .*2024/).waitFor()
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)(
  'a list goes on for a reader who stays at its end, on a busy page as well; where a page fails it waits for the reader',
  async () => {
    const place = await openPlace(told)
    const source = await place.source('orders')
    let left = MANY
    const send = async (): Promise<void> => {
      while (left-- > 0) await place.send(source.ingestUrl, { type: `order.${left}` })
    }
    await Promise.all(Array.from({ length: SENDERS }, send))
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events'))
    const list = page.getByRole('grid', { name: 'Events' })
    await list.waitFor()
    const rows = async (): Promise<number> => {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      return Number(await list.getAttribute('aria-rowcount'))
    }
    let asked = 0
    const further = /\/events\?.*cursor=/
    await page.route(further, async (route) => {
      asked++
      await route.fulfill({ status: 429, json: { message: 'Asked too often' } })
    })
    await expect.poll(rows, SOON).toBe(50)
    const more = page.getByRole('button', { name: 'Load more' })
    await page.getByRole('alert').getByText('Asked too often').waitFor()
    await page.evaluate(HEARD)
    const refused = page.waitForResponse(further)
    await more.click()
    await refused
    expect(asked).toBe(2)
    await page.unroute(further)
    await more.click()
    await expect.poll(rows, SOON).toBeGreaterThan(50)

    await page.addInitScript(HEARS_LATE)
    await page.reload()
    await list.waitFor()
    await expect.poll(rows, { timeout: 60_000, interval: 20 }).toBe(MANY)
    expect(faults).toEqual([])
  },
)
