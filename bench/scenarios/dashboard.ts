import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Browser, Page } from 'playwright-core'

import { hasChromium, openBrowser, openVisit } from '../../test/browser/browser.ts'
import { visitAsOwner } from '../../test/browser/people.ts'
import { openPlace, type Place } from '../../test/browser/place.ts'
import { Told } from '../../test/browser/told.ts'
import { says, startEndpoint } from '../../test/kit/endpoint.ts'
import { startInstallation } from '../installation.ts'
import { percentile } from '../measure.ts'
import type { Row } from '../table.ts'

const LISTED = 10_000
const SENDERS = 40
const LOADS = 5
const SCROLL_SECONDS = 10
const TAIL_SECONDS = 15
const TAIL_RATE = 200
const TICK_MS = 50

const LCP_MUST = 'LCP 2.5 s'
const SCROLL_MUST = 'frame p95 25 ms'

/** A phone: a quarter of this processor, 1.6 Mbit/s down, 150 ms away. */
const NETWORK = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
}
const CPU_SLOWDOWN = 4

/**
 * The dashboard in Chromium: the first sight of its pages with a slow processor and network, and its frames while a long list
 * is scrolled and while events come in live. Beside each a floor: a page of one word, and an empty page in the same seconds.
 */
export async function dashboard(): Promise<Row[]> {
  if (!hasChromium) throw new Error('There is no Chromium: CHROMIUM names it')
  await using installation = await startInstallation({ AUTH_CALLS_PER_MINUTE: '100000' })
  const told = Told.parse(
    JSON.parse(readFileSync(join(installation.dataDir, 'standalone.json'), 'utf8')),
  )
  await using sink = await startEndpoint()
  await using browser = { of: await openBrowser(), [Symbol.asyncDispose]: close }
  async function close(): Promise<void> {
    await browser.of.close()
  }
  const place = await openPlace(told)
  const source = await place.source('orders')
  await place.connection(source.id, await place.destination('shop', sink.url))
  const event = await fill(place, source.ingestUrl)
  return [
    ...(await firstSights(browser.of, told, place, event)),
    ...(await framesOfScrolling(browser.of, told, place)),
    ...(await framesOfTail(browser.of, told, place, source.ingestUrl)),
  ]
}

/** The id of the last event. */
async function fill(place: Place, ingestUrl: string): Promise<string> {
  let left = LISTED
  let last = ''
  const send = async (): Promise<void> => {
    while (left-- > 0) last = await place.send(ingestUrl, { type: `order.${left % 7}`, left })
  }
  await Promise.all(Array.from({ length: SENDERS }, send))
  return last
}

async function firstSights(
  browser: Browser,
  told: Told,
  place: Place,
  event: string,
): Promise<Row[]> {
  await using word = await startEndpoint(
    says(200, { 'content-type': 'text/html' }, '<!doctype html><h1>word</h1>'),
  )
  const pages = [
    ['overview', place.at('')],
    ['events', place.at('/events')],
    ['an event', place.at(`/events/${event}`)],
    ['sources', place.at('/sources')],
    ['sign-in', `${told.apiUrl}/sign-in`],
  ] as const
  const rows = [
    await firstSight('floor: a page of one word', '', () => openVisit(browser, word.url), word.url),
  ]
  for (const [name, address] of pages) {
    const visit = () =>
      name === 'sign-in' ? openVisit(browser, told.apiUrl) : visitAsOwner(browser, told)
    rows.push(await firstSight(`first sight: ${name}`, LCP_MUST, visit, address))
  }
  return rows
}

type Opened = Awaited<ReturnType<typeof openVisit>>

/** Each time with nothing in the cache. */
async function firstSight(
  figure: string,
  must: string,
  open: () => Promise<Opened>,
  address: string,
): Promise<Row> {
  const times: number[] = []
  for (let n = 0; n < LOADS; n++) {
    await using visit = await open()
    const { page, context } = visit
    const cdp = await context.newCDPSession(page)
    await cdp.send('Network.enable')
    await cdp.send('Network.emulateNetworkConditions', NETWORK)
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN })
    await page.goto(address)
    await page.locator('h1').first().waitFor()
    // Whatever comes later and is larger counts as well.
    await sleep(4_000)
    times.push(await page.evaluate<number>(LARGEST_PAINT))
  }
  const sorted = times.toSorted((a, b) => a - b)
  const measured = `p50 ${text(percentile(sorted, 0.5))}, worst ${text(sorted.at(-1) ?? 0)} ms`
  return { figure, must, measured, cpu: '' }
}

const LARGEST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime))
    .observe({ type: 'largest-contentful-paint', buffered: true })
})`

async function framesOfScrolling(browser: Browser, told: Told, place: Place): Promise<Row[]> {
  await using visit = await visitAsOwner(browser, told)
  const { page } = visit
  await page.goto(place.at('/events'))
  const list = page.getByRole('grid', { name: 'Events' })
  await list.waitFor()
  while (Number(await list.getAttribute('aria-rowcount')) < LISTED) {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await sleep(TICK_MS)
  }
  await sleep(2_000)
  const elements = await page.evaluate<number>("document.querySelectorAll('*').length")
  const rolled = await framesOf(page, SCROLL_SECONDS, 'scrollBy(0, -120)')
  const thrown = await framesOf(
    page,
    SCROLL_SECONDS,
    'scrollTo(0, Math.random() * document.documentElement.scrollHeight)',
  )
  const floor = await floorFrames(browser)
  return [
    frameRow('floor: frames of an empty page', '', floor),
    frameRow(
      `${LISTED.toLocaleString('en')} events rolled`,
      SCROLL_MUST,
      rolled,
      `${elements} elements`,
    ),
    frameRow(`${LISTED.toLocaleString('en')} events thrown to random places`, SCROLL_MUST, thrown),
  ]
}

async function framesOfTail(
  browser: Browser,
  told: Told,
  place: Place,
  ingestUrl: string,
): Promise<Row[]> {
  await using visit = await visitAsOwner(browser, told)
  const { page } = visit
  await page.goto(place.at('/events?live=true'))
  await page.getByText(/^Live: /).waitFor()
  const stop = new AbortController()
  const sending = sendSteadily(place, ingestUrl, stop.signal)
  await sleep(3_000)
  const frames = await framesOf(page, TAIL_SECONDS, '')
  const floor = await floorFrames(browser)
  stop.abort()
  const { sent, seconds } = await sending
  const shown = await page.getByText(/^Live: /).innerText()
  return [
    frameRow('floor: frames of an empty page, in the same traffic', '', floor),
    frameRow(
      `live at ${TAIL_RATE}/s`,
      'no dropped frames',
      frames,
      `${Math.round(sent / seconds)}/s sent; ${shown}`,
    ),
  ]
}

/** A batch each tick, whatever the answers take. */
async function sendSteadily(
  place: Place,
  ingestUrl: string,
  signal: AbortSignal,
): Promise<{ sent: number; seconds: number }> {
  const startedAt = performance.now()
  const answers: Promise<string>[] = []
  while (!signal.aborted) {
    const due = ((performance.now() - startedAt) / 1_000) * TAIL_RATE
    while (answers.length < due) answers.push(place.send(ingestUrl, { type: 'order.live' }))
    await sleep(TICK_MS)
  }
  await Promise.all(answers)
  return { sent: answers.length, seconds: (performance.now() - startedAt) / 1_000 }
}

async function floorFrames(browser: Browser): Promise<number[]> {
  await using visit = await openVisit(browser, 'about:blank')
  return await framesOf(visit.page, SCROLL_SECONDS, '')
}

/** Milliseconds between frames, sorted, while something is done in each. */
async function framesOf(page: Page, seconds: number, act: string): Promise<number[]> {
  const gaps = await page.evaluate<number[]>(`new Promise((resolve) => {
    const gaps = []
    let last
    const end = performance.now() + ${seconds * 1_000}
    const frame = (now) => {
      if (last !== undefined) gaps.push(now - last)
      last = now
      ${act}
      if (now < end) requestAnimationFrame(frame)
      else resolve(gaps)
    }
    requestAnimationFrame(frame)
  })`)
  return gaps.toSorted((a, b) => a - b)
}

/** Two frames are dropped where three should have been. */
const DROPPED_MS = 50

function frameRow(figure: string, must: string, gaps: readonly number[], cpu = ''): Row {
  const at = (share: number): string => text(percentile(gaps, share))
  const dropped = gaps.filter((gap) => gap >= DROPPED_MS).length
  const measured = `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} ms; ${dropped} of ${gaps.length} over ${DROPPED_MS} ms`
  return { figure, must, measured, cpu }
}

const text = (ms: number): string => ms.toFixed(1)
