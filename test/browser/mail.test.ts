import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { deliver } from '../email/mailbox.ts'
import { hasChromium, openBrowser } from './browser.ts'
import { visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const Listed = z.object({ data: z.array(z.object({ id: z.string() })) })

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

const MAIL = [
  'From: Ann <ann@example.net>',
  'To: orders@example.com',
  'Subject: Order 7',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Two pairs of socks.',
  '--b',
  'Content-Type: application/pdf; name=order.pdf',
  'Content-Disposition: attachment; filename=order.pdf',
  'Content-Transfer-Encoding: base64',
  '',
  'JVBERg==',
  '--b--',
  '',
].join('\r\n')

test.skipIf(!hasChromium)(
  'a person makes a source of mail, sends a mail to its address and reads it',
  async () => {
    const place = await openPlace(told)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/sources/new'))
    await page.getByLabel('Name').fill('orders by mail')
    await page.getByLabel('Takes').selectOption('email')
    await page.getByRole('button', { name: 'Create the source' }).click()

    const address = page.locator('.copyable.large code')
    await expect.poll(async () => await address.innerText()).toMatch(/^[a-z2-7]{26}@localhost$/)
    await page.getByRole('tab', { name: 'Test a signature' }).waitFor({ state: 'detached' })
    const to = await address.innerText()
    const said = await deliver(told.smtpPort ?? 0, to, MAIL)
    expect(said.code).toBe(250)

    const [eventId] = /evt_\w+/.exec(said.text) ?? []
    await page.goto(place.at(`/events/${eventId}`))
    await page.getByRole('heading', { name: 'Order 7' }).waitFor()
    await page.getByText('Ann <ann@example.net>').waitFor()
    const text = page.getByRole('region', { name: 'Text of the mail' })
    expect(await text.innerText()).toContain('Two pairs of socks.')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save order.pdf' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('order.pdf')
    expect(await page.getByRole('button', { name: 'Copy as curl' }).count()).toBe(0)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a mail of a stranger is rejected, and its page leads to who may send',
  async () => {
    const place = await openPlace(told)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/sources/new'))
    await page.getByLabel('Name').fill('only ours')
    await page.getByLabel('Takes').selectOption('email')
    await page.getByLabel('Domains of senders').fill('example.com')
    await page.getByRole('button', { name: 'Create the source' }).click()
    const address = page.locator('.copyable.large code')
    await expect.poll(async () => await address.innerText()).toContain('@')
    const said = await deliver(told.smtpPort ?? 0, await address.innerText(), MAIL)
    expect(said.code).toBe(550)
    const [rejected] = Listed.parse(await place.call('GET', '/events?status=rejected')).data
    await page.goto(place.at(`/events/${rejected?.id}`))
    await page.getByRole('link', { name: 'Show who may send' }).click()
    await expect
      .poll(async () => await page.getByLabel('Domains of senders').inputValue())
      .toBe('example.com')
    expect(faults).toEqual([])
  },
)
