import { existsSync } from 'node:fs'

import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export const hasChromium = existsSync(CHROMIUM)

/** Chromium refuses its sandbox to root. */
const ARGS = process.getuid?.() === 0 ? ['--no-sandbox'] : []

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: CHROMIUM, args: ARGS })
}

type ContextOptions = Parameters<Browser['newContext']>[0]

/** A page of its own, with all that went wrong in it. */
export interface Visit extends AsyncDisposable {
  page: Page
  context: BrowserContext
  /** Console errors, faults of scripts, violations of the policy, requests to elsewhere. */
  faults: string[]
}

/** A refused request is told by the browser as an error; the journey itself says which it expects. */
const REFUSED = /Failed to load resource: the server responded with a status of 4\d\d/

export async function openVisit(
  browser: Browser,
  origin: string,
  options: ContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const faults: string[] = []
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && !REFUSED.test(text)) faults.push(text)
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (asked !== origin && !['data:', 'blob:'].includes(protocol)) faults.push(request.url())
  })
  return { page, context, faults, [Symbol.asyncDispose]: async () => await context.close() }
}
