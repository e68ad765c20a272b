import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startRelay } from '../faults/relay.ts'
import { startEndpoint } from '../kit/endpoint.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { hasChromium, openBrowser, openVisit } from './browser.ts'
import { OWNER } from './people.ts'
import { Told } from './told.ts'

const TWO_MINUTES_MS = 120_000

let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

test.skipIf(!hasChromium)(
  'from the setup link to a delivered webhook in less than two minutes',
  async () => {
    using directory = scratch(IN_MEMORY)
    await using relay = await startRelay({ DATA_DIR: join(directory.path, 'relay') })
    const told = Told.parse(
      JSON.parse(readFileSync(join(relay.dataDir, 'standalone.json'), 'utf8')),
    )
    await using endpoint = await startEndpoint()
    await using visit = await openVisit(browser, told.apiUrl)
    const { page, faults } = visit
    const startedAt = performance.now()

    await page.goto(told.setupUrl ?? '')
    await expect.poll(() => new URL(page.url()).hash).toBe('')
    await page.getByLabel('Your name').fill(OWNER.name)
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password').fill(OWNER.password)
    await page.getByRole('button', { name: 'Make the account' }).click()

    await page.getByRole('button', { name: 'GitHub' }).click()
    await page.getByRole('button', { name: 'Make a random secret' }).click()
    await page.getByRole('button', { name: 'Make the source' }).click()
    await page.getByText('Waiting for the first webhook').waitFor()

    // The command that people copy is run by a shell, as they would.
    const command = await page.getByRole('region', { name: 'The command' }).innerText()
    expect(command).toContain('x-hub-signature-256: sha256=')
    await promisify(execFile)('sh', ['-c', command])

    await page.getByText('It is here, and stored').waitFor()
    await page.getByLabel('URL').fill(endpoint.url)
    await page.getByRole('button', { name: 'Deliver it there' }).click()
    await page.getByText(/^Delivered to/).waitFor()
    expect(performance.now() - startedAt).toBeLessThan(TWO_MINUTES_MS)
    expect(endpoint.arrivals).toHaveLength(1)
    expect(JSON.parse(String(endpoint.arrivals[0]?.body))).toMatchObject({ type: 'invoice.paid' })

    await page.getByRole('link', { name: 'Done: go to the overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(faults).toEqual([])
  },
)
