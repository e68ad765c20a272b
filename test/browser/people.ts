import type { Browser, BrowserContext } from 'playwright-core'

import { openVisit, type Visit } from './browser.ts'
import type { Told } from './told.ts'

export const OWNER = {
  email: 'ada@example.com',
  name: 'Ada',
  password: 'correct horse battery staple',
}

type State = Awaited<ReturnType<BrowserContext['storageState']>>

/** Sends what the dashboard would, and answers with the cookie. */
async function enter(origin: string, path: string, body: object): Promise<string> {
  const answer = await fetch(`${origin}/auth${path}`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  const [cookie = ''] = answer.headers.getSetCookie()
  return cookie.split(';')[0] ?? ''
}

/** Signs the owner in anew: what a journey does to its session concerns no other. Makes the account if there is none yet. */
export async function ownerCookie({ apiUrl, setupUrl }: Told): Promise<string> {
  const token = setupUrl?.split('#')[1]
  // Another file of the suite may have made the account.
  const made = await enter(apiUrl, '/setup', { token, ...OWNER }).catch(() => undefined)
  const { email, password } = OWNER
  return made ?? (await enter(apiUrl, '/sign-in', { email, password }))
}

function stateOf(apiUrl: string, cookie: string): State {
  const [name = '', value = ''] = cookie.split('=')
  const { hostname } = new URL(apiUrl)
  const kept = { name, value, domain: hostname, path: '/', expires: -1, httpOnly: true }
  return { cookies: [{ ...kept, secure: false, sameSite: 'Lax' }], origins: [] }
}

/** The owner at the dashboard. */
export async function visitAsOwner(
  browser: Browser,
  told: Told,
  options: Parameters<typeof openVisit>[2] = {},
): Promise<Visit> {
  const cookie = await ownerCookie(told)
  const storageState = stateOf(told.apiUrl, cookie)
  return await openVisit(browser, told.apiUrl, { storageState, ...options })
}

/** Whoever has accepted an invitation of the owner. */
export async function visitAsMember(browser: Browser, told: Told, email: string): Promise<Visit> {
  const cookie = await ownerCookie(told)
  const answer = await fetch(
    `${told.apiUrl}/auth/organisations/${told.organisationId}/invitations`,
    {
      method: 'POST',
      headers: { origin: told.apiUrl, 'content-type': 'application/json', cookie },
      body: JSON.stringify({ email, role: 'member' }),
    },
  )
  const { url }: { url: string } = JSON.parse(await answer.text())
  const token = url.split('#')[1]
  const { password } = OWNER
  const joined = await enter(told.apiUrl, '/invitations/accept', {
    token,
    email,
    name: 'Bo',
    password,
  })
  return await openVisit(browser, told.apiUrl, { storageState: stateOf(told.apiUrl, joined) })
}
