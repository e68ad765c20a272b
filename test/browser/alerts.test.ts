import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { startEndpoint } from '../kit/endpoint.ts'
import { hasChromium, openBrowser } from './browser.ts'
import { visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

const TYPES = ['destination.failing', 'backlog.age'] as const

test.skipIf(!hasChromium)(
  'mails of alerts are chosen one after the other, and no choice undoes another',
  async () => {
    const place = await openPlace(told)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    const answered = Promise.withResolvers<void>()
    let choice = { isOffered: true, types: TYPES, unwanted: [] }
    // The installation of these journeys sends no mail.
    await page.route('**/alerts/mails', async (route) => {
      if (route.request().method() === 'PUT') {
        choice = { ...choice, ...route.request().postDataJSON() }
        await answered.promise
      }
      await route.fulfill({ json: choice })
    })
    await page.goto(place.at('/alerts'))
    const first = page.getByLabel(TYPES[0])
    const second = page.getByLabel(TYPES[1])
    await first.click()
    await expect.poll(() => second.isDisabled()).toBe(true)
    answered.resolve()
    await second.click()
    await expect.poll(() => choice.unwanted).toEqual(TYPES)
    await expect.poll(() => second.isChecked()).toBe(false)
    expect(await first.isChecked()).toBe(false)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'an owner comes to the alerts by the bell, says where they go, tests it and removes it',
  async () => {
    const place = await openPlace(told)
    await using endpoint = await startEndpoint()
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at())
    await page.getByRole('link', { name: /^Alerts, / }).click()
    await page.getByRole('heading', { name: 'Alerts', level: 1 }).waitFor()
    await page.getByLabel('URL').fill(`${endpoint.url}/alerts`)
    await page.getByRole('button', { name: 'Save the address' }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    const sent = page.getByRole('table', { name: 'Last notifications' })
    await sent.getByRole('row', { name: /alert\.test.*succeeded/ }).waitFor()
    const [arrival] = endpoint.arrivals
    expect(JSON.parse(arrival?.body.toString() ?? '{}')).toMatchObject({ type: 'alert.test' })
    expect(arrival?.headers['webhook-signature']).toMatch(/^v1,/)
    await page.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByRole('button', { name: 'Send a test' }).waitFor({ state: 'detached' })
    expect(faults).toEqual([])
  },
)
