import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { startRelay } from '../faults/relay.ts'
import { startEndpoint } from '../kit/endpoint.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { hasChromium, openBrowser, openVisit } from './browser.ts'
import { OWNER, visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'
import { Told } from './told.ts'

const TWO_MINUTES_MS = 120_000

const told = inject('dashboard')
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
    const own = Told.parse(JSON.parse(readFileSync(join(relay.dataDir, 'standalone.json'), 'utf8')))
    await using endpoint = await startEndpoint()
    await using visit = await openVisit(browser, own.apiUrl)
    const { page, faults } = visit
    const startedAt = performance.now()

    await page.goto(own.setupUrl ?? '')
    await expect.poll(() => new URL(page.url()).hash, { timeout: 15_000 }).toBe('')
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
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'a sample is sent for whoever asks, to a source that is new and to one that works already',
  async () => {
    const place = await openPlace(told)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(`${told.apiUrl}/p/${place.projectId}/start`)
    await page.getByRole('button', { name: 'Stripe' }).click()
    await page.getByRole('button', { name: 'Make a random secret' }).click()
    await page.getByRole('button', { name: 'Make the source' }).click()
    await page.getByText('Waiting for the first webhook').waitFor()
    await page.getByRole('button', { name: 'Send a sample for me' }).click()
    await page.getByText('It is here, and stored').waitFor()

    const source = new URL(page.url()).searchParams.get('source')
    await page.goto(`${told.apiUrl}/p/${place.projectId}/sources/${source}`)
    await page.getByRole('button', { name: 'Send a sample for me' }).click()
    await page.getByText('Sent:').getByRole('link').click()
    await page.getByText('Accepted, but no connection was active').waitFor()
    await page.getByText('invoice.paid').first().waitFor()

    const key = '0'.repeat(64)
    const verifier = { preset: 'discord', publicKeys: [key] }
    const { id } = await place.source('discord', { verifier })
    await page.goto(`${told.apiUrl}/p/${place.projectId}/sources/${id}`)
    await page.getByText('Only the provider can sign').waitFor()
    const button = page.getByRole('button', { name: 'Send a sample for me' })
    expect(await button.getAttribute('aria-disabled')).toBe('true')
    expect(faults).toEqual([])
  },
)
