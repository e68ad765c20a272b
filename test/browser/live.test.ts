import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { startEndpoint } from '../kit/endpoint.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { scratch } from '../kit/servers.ts'
import { hasChromium, openBrowser } from './browser.ts'
import { visitAsOwner } from './people.ts'
import { openPlace } from './place.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const READY = 'id: 1.a\nevent: ready\ndata: {}\n\n'
const gapOf = (from: string | null): string =>
  `event: gap\ndata: ${JSON.stringify({ reason: 'unknown', from, until: new Date() })}\n\n`

const told = inject('dashboard')
let browser: Browser

beforeAll(async () => {
  if (hasChromium) browser = await openBrowser()
})
afterAll(async () => await browser?.close())

test.skipIf(!hasChromium)(
  'new events come in by themselves, hold still for a reader further down, and are read where the stream missed them',
  async () => {
    const place = await openPlace(told)
    const source = await place.source('orders')
    for (let number = 0; number < 60; number++)
      await place.send(source.ingestUrl, { type: `old.${number}` })
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/events'))
    await page.getByText('old.59').waitFor()
    await page.keyboard.press('l')
    await page.getByText('Live: 0 new events').waitFor()
    await place.send(source.ingestUrl, { type: 'new.first' })
    await page.getByText('new.first').waitFor()

    await page.mouse.wheel(0, 900)
    await expect
      .poll(() => page.evaluate<number>('scrollY'), { timeout: 10_000 })
      .toBeGreaterThan(300)
    await place.send(source.ingestUrl, { type: 'new.second' })
    const news = page.getByRole('button', { name: 'Show 1 new' })
    await news.waitFor()
    expect((await news.boundingBox())?.y).toBeGreaterThan(0)
    expect(await page.getByText('new.second').count()).toBe(0)
    await news.click()
    await page.getByText('new.second').waitFor()

    const missed = Promise.withResolvers<string>()
    const streams = [READY, missed.promise]
    await page.route('**/events/stream', async (route) => {
      const body = (await streams.shift()) ?? ''
      await route.fulfill({ contentType: 'text/event-stream', body })
    })
    const isList = /\/events(\?|$)/
    await page.keyboard.press('l')
    await page.getByRole('button', { name: 'Follow live' }).waitFor()
    const begun = page.waitForResponse(isList)
    await page.keyboard.press('l')
    await begun
    await place.send(source.ingestUrl, { type: 'missed.all' })
    const from = new Date().toISOString()
    missed.resolve(READY + gapOf(null) + gapOf(from))
    await page.getByText('missed.all').waitFor()
    await place.send(source.ingestUrl, { type: 'missed.some' })
    const load = page.getByRole('button', { name: /^Missed .*: load them$/ })
    await load.click()
    await page.getByText('missed.some').waitFor()
    expect(await load.count()).toBe(0)
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)('a list is read with the keyboard alone', async () => {
  const place = await openPlace(told)
  await using endpoint = await startEndpoint()
  const source = await place.source('orders')
  await place.connection(source.id, await place.destination('shop', endpoint.url))
  await place.send(source.ingestUrl, { type: 'first.sent' })
  await place.send(source.ingestUrl, { type: 'last.sent' })
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(place.at())
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('e')
  await page.getByText('last.sent').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'first.sent' }).waitFor()
  await page.keyboard.press('[')
  await page.getByRole('heading', { name: 'last.sent' }).waitFor()
  await page.keyboard.press('r')
  await page.getByRole('dialog', { name: 'Replay this event?' }).waitFor()
  await page.keyboard.press('Escape')
  expect(await page.getByRole('dialog').count()).toBe(0)
  expect(faults).toEqual([])
})

test.skipIf(!hasChromium)(
  'a connector is started by the command that is shown; its replica comes and goes',
  async () => {
    const place = await openPlace(told)
    await using visit = await visitAsOwner(browser, told)
    const { page, faults } = visit
    await page.goto(place.at('/connectors'))
    await page.getByRole('button', { name: 'New connector' }).first().click()
    await page.getByLabel('Name').fill('office')
    await page.getByRole('button', { name: 'Create the connector' }).click()
    const command = await page.getByRole('region', { name: 'The command' }).innerText()
    expect(command).toContain(`--relay '${told.apiUrl}'`)
    await page.getByRole('tab', { name: 'Connector resource' }).click()
    const resource = await page.getByRole('region', { name: 'The command' }).innerText()
    expect(resource).toMatch(/kind: Connector[^]*connectorId: cnr_/)
    using directory = scratch()
    const own = `${command} --name journey --state-dir '${directory.path}'`
    const env = { ...process.env, ...SURROUNDINGS }
    const agent = spawn('sh', ['-c', own], { cwd: ROOT, env, detached: true, stdio: 'ignore' })
    try {
      const row = page.getByRole('row', { name: /journey/ })
      await row.getByText('Online').waitFor()
      process.kill(-(agent.pid ?? 0), 'SIGTERM')
      await row.getByText('Offline').waitFor()
      await page.getByText('journey went offline').waitFor()
    } finally {
      agent.kill('SIGKILL')
    }
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'without a network the page keeps what it has, and says so; without its projects it can be loaded again',
  async () => {
    const place = await openPlace(told)
    await place.source('orders')
    await using visit = await visitAsOwner(browser, told)
    const { page, context } = visit
    await page.goto(place.at('/sources'))
    await page.getByRole('link', { name: 'orders' }).waitFor()
    await context.setOffline(true)
    await page.getByText('There is no network.').waitFor()
    expect(await page.getByRole('link', { name: 'orders' }).count()).toBe(1)
    await context.setOffline(false)
    await page.getByText('There is no network.').waitFor({ state: 'detached' })

    const refused = { status: 429, json: { message: 'Asked too often' } }
    await page.route('**/auth/projects', async (route) => await route.fulfill(refused))
    await page.reload()
    await page.getByRole('heading', { name: 'This page failed' }).waitFor()
    await page.getByRole('alert').getByText('Asked too often').waitFor()
    await page.unroute('**/auth/projects')
    await page.getByRole('button', { name: 'Load it again' }).click()
    await page.getByRole('link', { name: 'orders' }).waitFor()
  },
)

test.skipIf(!hasChromium)('a secret is rotated with its use in sight, and taken back', async () => {
  const place = await openPlace(told)
  const verifier = { preset: 'gitlab', secret: 'before' }
  const source = await place.source('gitlab', { verifier })
  await using visit = await visitAsOwner(browser, told)
  const { page, faults } = visit
  await page.goto(place.at(`/sources/${source.id}?tab=rotation`))
  await page.getByLabel('New secret').fill('after')
  await page.getByRole('button', { name: 'Rotate the secret' }).click()
  await page.getByText('A rotation is under way').waitFor()
  const made = page.getByText('Copy the secret now')
  await made.waitFor()
  await place.send(source.ingestUrl, { type: 'x' }, { 'x-gitlab-token': 'before' })
  await page.getByRole('row', { name: /^previous 1 / }).waitFor()
  await page.getByRole('button', { name: 'Go back to the previous secret…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click()
  await page.getByText('A rotation is under way').waitFor({ state: 'detached' })
  expect(await made.count()).toBe(0)
  expect(faults).toEqual([])
})
