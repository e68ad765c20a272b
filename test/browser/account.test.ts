import pg from 'pg'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { hasChromium, openBrowser, openVisit } from './browser.ts'
import { OWNER, visitAsMember, visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

test.skipIf(!hasChromium)(
  'a person changes the name and signs out everywhere: every browser is asked to sign in',
  async () => {
    const email = `fay-${Date.now()}@example.com`
    await using first = await visitAsMember(browser, told, email)
    const { page, faults } = first
    await page.goto(`${told.apiUrl}/me`)
    await page.getByLabel('Name', { exact: true }).fill('Fay the Second')
    await page.getByRole('button', { name: 'Save the name' }).click()
    await page.getByLabel('Account of Fay the Second').waitFor()

    await using other = await openVisit(browser, told.apiUrl)
    await other.page.goto(`${told.apiUrl}/me`)
    await other.page.getByLabel('Email').fill(email)
    await other.page.getByLabel('Password').fill(OWNER.password)
    await other.page.getByRole('button', { name: 'Sign in' }).click()
    await other.page.getByRole('heading', { name: 'Your account' }).waitFor()

    await page.getByRole('button', { name: 'Sign out everywhere…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect([...faults, ...other.faults]).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'an owner renames the organisation; a member sees the name, and why they may not change it',
  async () => {
    await using member = await visitAsMember(browser, told, `gus-${Date.now()}@example.com`)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    const settings = `${told.apiUrl}/org/${told.organisationId}/settings`
    const name = `Shoes ${Date.now()}`
    await page.goto(settings)
    const field = page.getByLabel('Name of the organisation')
    await field.fill(name)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('navigation', { name: 'Pages' }).getByText(name).waitFor()

    await member.page.goto(settings)
    await member.page.getByRole('navigation', { name: 'Pages' }).getByText(name).waitFor()
    expect(await member.page.getByLabel('Name of the organisation').isDisabled()).toBe(true)
    await member.page.getByText('Needs the role owner or admin').waitFor()

    await page.goto(`${told.apiUrl}/org/${told.organisationId}/members`)
    await page.getByRole('row', { name: OWNER.email }).getByText('ago').waitFor()
    expect([...faults, ...member.faults]).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a secret is shown a while after the sign-in only for the password',
  async () => {
    const place = await openPlace(told)
    const id = await place.destination('shop', 'http://127.0.0.1:9')
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at(`/destinations/${id}?tab=signing`))
    await signedInAWhileAgo(told.databaseUrl)
    await page.getByRole('button', { name: 'Show the signing secret' }).click()
    const question = page.getByRole('dialog', { name: 'Your password, once more' })
    await question.getByLabel('Password').fill('wrong')
    await question.getByRole('button', { name: 'Go on' }).click()
    await question.getByText('Is not your password').first().waitFor()
    expect(await page.getByText(/^whsec_/).count()).toBe(0)
    await question.getByLabel('Password').fill(OWNER.password)
    await question.getByRole('button', { name: 'Go on' }).click()
    await page.getByText(/^whsec_/).waitFor()

    await signedInAWhileAgo(told.databaseUrl)
    await page.reload()
    await page.getByRole('button', { name: 'Show the signing secret' }).click()
    await question.waitFor()
    await page.keyboard.press('Escape')
    await page
      .getByRole('alert')
      .getByText(/password/)
      .waitFor()
    expect(await page.getByText(/^whsec_/).count()).toBe(0)
    expect(faults).toEqual([])
  },
)

/** Time cannot be shifted here, but what is known of it can. */
async function signedInAWhileAgo(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query("update session set authenticated_at = now() - interval '16 minutes'")
  await client.end()
}
