import { join } from 'node:path'

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { brokenWordsOf, MODES, obstaclesOf } from './axe.ts'
import { hasChromium, openBrowser, openVisit } from './browser.ts'
import { everyAddress } from './everything.ts'
import { visitAsMember, visitAsOwner } from './people.ts'

const told = inject('dashboard')
let browser: Browser
let addresses: readonly string[] = []

beforeAll(async () => {
  if (!hasChromium) return
  browser = await openBrowser()
  // Makes the owner's account.
  await (await visitAsOwner(browser, told))[Symbol.asyncDispose]()
  addresses = await everyAddress(told)
})
afterAll(async () => await browser?.close())

/** A folder in which a picture of each page is kept, for whoever wants to look at all of them. */
const PICTURES = process.env['PICTURES']

/** Whatever is wrong with pages, each beside its address. */
async function walk(page: Page, mode: string): Promise<string[]> {
  const bad: string[] = []
  for (const [index, address] of addresses.entries()) {
    await page.goto(`${told.apiUrl}${address}`)
    await page.locator('h1').first().waitFor()
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    const found = [...(await obstaclesOf(page)), ...(await brokenWordsOf(page))]
    bad.push(...found.map((obstacle) => `${address} ${obstacle}`))
    if (PICTURES !== undefined) {
      const name = address.replaceAll(/[a-z]{3}_[0-9a-z]{26}/g, 'id').replaceAll(/[^\w]+/g, '-')
      // Addresses that differ by their ids alone have a picture each.
      const file = `${String(index).padStart(2, '0')}${name}-${mode}.png`
      await page.screenshot({ path: join(PICTURES, file), fullPage: true })
    }
    if ((await page.title()) === 'Postern') bad.push(`${address} has no title of its own`)
  }
  return bad
}

test.skipIf(!hasChromium).for(MODES)(
  'every address is accessible, fits and keeps the policy at $width px, $colorScheme',
  { timeout: 240_000 },
  async ({ width, colorScheme }) => {
    const options = { viewport: { width, height: 800 }, colorScheme }
    await using visit = await visitAsOwner(browser, told, options)
    expect(await walk(visit.page, `${width}-${colorScheme}`)).toEqual([])
    expect(visit.faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'every address is accessible to a member, who may less',
  { timeout: 240_000 },
  async () => {
    await using visit = await visitAsMember(browser, told, `may-less-${Date.now()}@example.com`)
    expect(await walk(visit.page, 'member')).toEqual([])
    expect(visit.faults).toEqual([])
  },
)

/** Each opens a dialog of its page. */
const DIALOGS: readonly (readonly [string, (page: Page) => Promise<void>])[] = [
  ['/events', (page) => page.keyboard.press('Control+k')],
  ['/events', (page) => page.keyboard.press('?')],
  ['/events?status=received', (page) => press(page, 'Replay matching…')],
  ['/connectors', (page) => press(page, 'New connector')],
  ['/keys', (page) => press(page, 'New key')],
  ['/agents', (page) => press(page, 'New agent')],
  ['/members', (page) => press(page, 'Invite…')],
  ['/projects', (page) => press(page, 'New project')],
  ['/me', (page) => press(page, 'Sign out everywhere…')],
]

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).first().click()
}

test.skipIf(!hasChromium).for(MODES)(
  'dialogs are accessible and fit at $width px, $colorScheme',
  async ({ width, colorScheme }) => {
    const options = { viewport: { width, height: 800 }, colorScheme }
    await using visit = await visitAsOwner(browser, told, options)
    const { page, faults } = visit
    const bad: string[] = []
    for (const [place, open] of DIALOGS) {
      const address = addresses.find((each) => each.endsWith(place.split('?')[0] ?? place))
      await page.goto(
        `${told.apiUrl}${address}${place.includes('?') ? `?${place.split('?')[1]}` : ''}`,
      )
      await page.locator('h1').first().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      await open(page)
      await page.getByRole('dialog').first().waitFor()
      bad.push(...(await obstaclesOf(page)).map((obstacle) => `${place} ${obstacle}`))
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

test.skipIf(!hasChromium)('a page that people cannot use would be seen', async () => {
  await using visit = await openVisit(browser, told.apiUrl)
  const { page } = visit
  await page.goto(`${told.apiUrl}/sign-in`)
  await page.locator('h1').waitFor()
  expect(await obstaclesOf(page)).toEqual([])
  await page.evaluate(
    "document.body.append(document.createElement('input'), Object.assign(document.createElement('div'), { className: 'over' }))",
  )
  await page.evaluate(
    "document.querySelector('.over').style.width = '3000px'; document.querySelector('.over').style.height = '1px'",
  )
  expect(await obstaclesOf(page)).toEqual([
    expect.stringMatching(/^label: /),
    expect.stringMatching(/^region: /),
    expect.stringMatching(/^is \d+ px too wide$/),
  ])
  expect(await brokenWordsOf(page)).toEqual([])
  await page.evaluate(
    "document.body.append(Object.assign(document.createElement('p'), { className: 'thin', textContent: 'Standalone' }))",
  )
  await page.evaluate(
    "Object.assign(document.querySelector('.thin').style, { width: '40px', overflowWrap: 'anywhere' })",
  )
  expect(await brokenWordsOf(page)).toEqual(['breaks the word Standalone'])
  await page.evaluate(
    "Object.assign(document.querySelector('.thin'), { className: 'thin is', textContent: 'Pending' })",
  )
  await page.evaluate(
    "Object.assign(document.querySelector('.is').style, { overflow: 'hidden', whiteSpace: 'nowrap' })",
  )
  await page.evaluate("document.querySelector('.is').parentElement.classList.add('row')")
  expect(await brokenWordsOf(page)).toEqual(['cuts off Pending'])
})
