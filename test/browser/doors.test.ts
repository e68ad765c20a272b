import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startRelay } from '../faults/relay.ts'
import { startMailServer, textOf, type MailServer } from '../kit/mail-server.ts'
import { CLIENT, startProvider, type TestProvider } from '../kit/oidc-provider.ts'
import { eventually } from '../kit/relay.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { hasChromium, openBrowser, openVisit } from './browser.ts'
import { Told } from './told.ts'

/** An installation with every door: mail, a provider, and sign-up for anybody. */
const stack = new AsyncDisposableStack()
let browser: Browser
let mail: MailServer
let provider: TestProvider
let apiUrl: string

beforeAll(async () => {
  if (!hasChromium) return
  browser = await openBrowser()
  stack.defer(async () => await browser.close())
  mail = stack.use(await startMailServer())
  provider = stack.use(await startProvider())
  const directory = stack.use(scratch(IN_MEMORY))
  const relay = stack.use(
    await startRelay({
      DATA_DIR: join(directory.path, 'relay'),
      SMTP_URL: mail.url,
      MAIL_FROM: 'Postern <postern@example.com>',
      SIGNUP: 'open',
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_NAME: 'Keycloak',
    }),
  )
  const text = readFileSync(join(relay.dataDir, 'standalone.json'), 'utf8')
  apiUrl = Told.parse(JSON.parse(text)).apiUrl
  provider.sendBackTo(`${apiUrl}/auth/callback/oidc`)
  // There are doors for strangers once there is an owner.
  const told = Told.parse(JSON.parse(text))
  const owner = { email: 'owner@example.com', name: 'Owner', password: 'quite long enough' }
  await fetch(`${apiUrl}/auth/setup`, {
    method: 'POST',
    headers: { origin: apiUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ token: told.setupUrl?.split('#')[1], ...owner }),
  })
})
afterAll(async () => await stack.disposeAsync())

test.skipIf(!hasChromium)(
  'somebody signs up, loses the password, and sets a new one by a link that is mailed',
  async () => {
    await using visit = await openVisit(browser, apiUrl)
    const { page, faults } = visit
    await page.goto(`${apiUrl}/sign-in`)
    await page.getByRole('link', { name: 'Make one' }).click()
    await page.getByLabel('Email').fill('sue@example.com')
    await page.getByRole('button', { name: 'Mail me a link' }).click()
    await page.getByText('We sent a link to').waitFor()
    const first = await mailedLink('sign-up')
    await page.getByRole('button', { name: 'Send it again' }).click()
    await page.getByText('We sent another link to').waitFor()
    await page.goto(
      await eventually(async () => {
        const link = await mailedLink('sign-up')
        if (link === first) throw new Error('There is no second mail')
        return link
      }),
    )
    await page.getByLabel('Your name').fill('Sue')
    expect(await page.getByLabel('Email').inputValue()).toBe('sue@example.com')
    await page.getByLabel('Password').fill('the first password')
    await page.getByLabel('Name of your organisation').fill('Sue Ltd')
    await page.getByRole('button', { name: 'Make the account' }).click()
    await page.getByLabel('Account of Sue').click()
    await page.getByRole('button', { name: 'Sign out' }).click()

    await page.getByRole('link', { name: 'A lost password?' }).click()
    await page.getByLabel('Email').fill('sue@example.com')
    await page.getByRole('button', { name: 'Mail me a link' }).click()
    await page.getByText('a link is on its way there').waitFor()
    await page.goto(await mailedLink('reset'))
    await page.getByLabel('New password').fill('the second password')
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill('sue@example.com')
    await page.getByLabel('Password').fill('the second password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Account of Sue').waitFor()
    expect(faults).toEqual([])
  },
)

test.skipIf(!hasChromium)(
  'somebody signs in with the provider; whoever turns back there reads why nobody was signed in',
  async () => {
    await using visit = await openVisit(browser, apiUrl)
    const { page, faults } = visit
    await page.goto(`${apiUrl}/sign-in?next=${encodeURIComponent('/me')}`)
    const button = page.getByRole('link', { name: 'Sign in with Keycloak' })
    provider.person = null
    await button.click()
    await page.getByRole('alert').getByText('You turned back at the provider').waitFor()
    provider.people.set('kim', { email: 'kim@example.com', email_verified: true, name: 'Kim' })
    provider.person = 'kim'
    await page.goto(`${apiUrl}/sign-in?next=${encodeURIComponent('/me')}`)
    await button.click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await page.getByRole('definition').getByText('kim@example.com').waitFor()
    // The way through the provider is the one that leads elsewhere.
    expect(faults.filter((fault) => !fault.startsWith(provider.issuer))).toEqual([])
  },
)

/** The link to a page that was mailed last. */
async function mailedLink(to: string): Promise<string> {
  return await eventually(() => {
    const text = mail.received.map((one) => textOf(one)).join('\n')
    const found = [...text.matchAll(new RegExp(`http://\\S+/${to}#\\S+`, 'g'))].at(-1)?.[0]
    if (found === undefined) throw new Error(`No link was mailed: ${text}`)
    return found
  })
}
