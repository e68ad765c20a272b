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
