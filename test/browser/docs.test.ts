import { existsSync } from 'node:fs'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { PAGES } from '../../docs/site/pages.ts'
import { eventually } from '../kit/relay.ts'
import { MODES, obstaclesOf } from './axe.ts'
import { hasChromium, openBrowser, openVisit } from './browser.ts'

const told = inject('dashboard')
/** `.ci/run` builds it; elsewhere a site that is not built is a skipped test. */
const isBuilt = existsSync('docs/site/dist/index.html') || process.env['CI'] !== undefined
const cannotRun = !hasChromium || !isBuilt

let browser: Browser
beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

const ADDRESSES = [
  '',
  ...PAGES.map((page) => `/${page}`),
  '/reference',
  '/reference/operations/listevents',
  '/reference/operations/createsource',
  '/reference/operations/revokereplica',
]

test.skipIf(cannotRun).for(MODES)(
  'every page of the documentation is accessible, fits and keeps the policy at $width px, $colorScheme',
  { timeout: 480_000 },
  async ({ width, colorScheme }) => {
    const options = { viewport: { width, height: 800 }, colorScheme }
    await using visit = await openVisit(browser, told.apiUrl, options)
    const { page, faults } = visit
    const bad: string[] = []
    for (const address of ADDRESSES) {
      const answer = await page.goto(`${told.apiUrl}/docs${address}`)
      if (answer?.status() !== 200) bad.push(`${address} ${answer?.status()}`)
      const obstacles = await obstaclesOf(page, { withBestPractice: false })
      bad.push(...obstacles.map((obstacle) => `${address} ${obstacle}`))
    }
    expect(bad).toEqual([])
    expect(faults).toEqual([])
  },
)

test.skipIf(cannotRun)('the documentation is searched without a foreign request', async () => {
  await using visit = await openVisit(browser, told.apiUrl)
  const { page, faults } = visit
  await page.goto(`${told.apiUrl}/docs/start`)
  const words = page.getByRole('searchbox').or(page.getByRole('textbox')).first()
  // The button is there before its script is.
  await eventually(async () => {
    if (!(await words.isVisible())) await page.getByRole('button', { name: 'Search' }).click()
    await words.waitFor({ timeout: 1_000 })
  })
  await words.fill('webhook-id')
  await page
    .getByRole('dialog')
    .getByRole('link', { name: /Verify what Postern delivers/ })
    .first()
    .click()
  await page.waitForURL('**/docs/receivers*')
  expect(faults).toEqual([])
})

test.skipIf(cannotRun)(
  'a page is there as Markdown, and an address that is none is 404',
  async () => {
    const index = await (await fetch(`${told.apiUrl}/docs/llms.txt`)).text()
    expect(index).toContain('(/docs/filters.md)')
    const page = await fetch(`${told.apiUrl}/docs/filters.md`)
    expect(page.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    expect(await page.text()).toMatch(/^# Filters\n/)
    expect((await fetch(`${told.apiUrl}/docs/nothing`)).status).toBe(404)
    expect((await fetch(`${told.apiUrl}/docs/..%2f..%2fpackage.json`)).status).toBe(404)
  },
)
