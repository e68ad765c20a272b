import { makeSetupLink } from '../../api/accounts/people/links.ts'
import { hashPassword } from '../../core/accounts/password.ts'
import type { Role } from '../../core/accounts/role.ts'
import { insertMembership } from '../../core/db/accounts/memberships.ts'
import { insertPerson } from '../../core/db/accounts/people.ts'
import { encodeId, newId } from '../../core/ids.ts'
import { uuid } from './seed.ts'
import type { World } from './world.ts'

export const PASSWORD = 'correct horse battery staple'

interface Visited {
  status: number
  headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  body: any
}

interface VisitOptions {
  headers?: Record<string, string>
  /** Null sends none; the dashboard's own unless told. */
  origin?: string | null
  /** Sent in place of the jar's. */
  cookie?: string
}

/** A browser at the dashboard, as far as requests go: it keeps its cookie and names the origin of its writes. */
export interface Browser {
  /** `name=value`, as it is sent; more of them with `; ` between. */
  cookie: string | undefined
  /** The whole header of the last answer that set one. */
  setCookie: string | undefined
  visit(method: string, path: string, body?: unknown, options?: VisitOptions): Promise<Visited>
}

export function openBrowser(apiUrl: string): Browser {
  const kept = new Map<string, string>()
  const browser: Browser = {
    get cookie() {
      return kept.size === 0 ? undefined : [...kept.values()].join('; ')
    },
    set cookie(text) {
      kept.clear()
      for (const pair of text?.split('; ') ?? []) kept.set(pair.split('=')[0] ?? '', pair)
    },
    setCookie: undefined,
    async visit(method, path, body, { headers = {}, origin = apiUrl, cookie } = {}) {
      const sent = cookie ?? browser.cookie
      const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
      const response = await fetch(`${apiUrl}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(text !== undefined && { 'content-type': 'application/json' }),
          ...(method !== 'GET' && origin !== null && { origin }),
          ...(sent !== undefined && { cookie: sent }),
          ...headers,
        },
        ...(text !== undefined && { body: text }),
      })
      const set = response.headers.getSetCookie()
      browser.setCookie = set[0] ?? browser.setCookie
      for (const one of set) {
        const [pair = ''] = one.split(';')
        const [name = ''] = pair.split('=')
        if (/Max-Age=0\b/.test(one)) kept.delete(name)
        else kept.set(name, pair)
      }
      const isStream = response.headers.get('content-type') === 'text/event-stream'
      if (isStream) await response.body?.cancel()
      const said = isStream ? '' : await response.text()
      return {
        status: response.status,
        headers: response.headers,
        body: said === '' ? undefined : JSON.parse(said),
      }
    },
  }
  return browser
}

/** The token of a new setup link. */
export async function setupToken(world: World): Promise<string> {
  const link = await makeSetupLink(world.deps)
  if (link === undefined) throw new Error('There is an owner already')
  return link.token
}

let hash: string | undefined

/** Stores a person who is a member of organisations, without asking the API. Returns their `usr_…` id. */
export async function seedPerson(
  world: World,
  email: string,
  roles: Readonly<Record<string, Role>>,
): Promise<string> {
  const now = new Date(world.clock.now())
  hash ??= await hashPassword(PASSWORD, 'a test')
  const id = newId(now.getTime())
  await insertPerson(world.db, {
    id,
    email,
    name: email,
    passwordHash: hash,
    emailVerifiedAt: now,
    createdAt: now,
  })
  for (const [organisationId, role] of Object.entries(roles)) {
    await insertMembership(world.db, {
      organisationId: uuid('org', organisationId),
      personId: id,
      role,
      now,
    })
  }
  return encodeId('usr', id)
}

/** A browser in which such a person is signed in. */
export async function signIn(world: World, email: string): Promise<Browser> {
  const browser = openBrowser(world.apiUrl)
  const answer = await browser.visit('POST', '/auth/sign-in', { email, password: PASSWORD })
  if (answer.status !== 200) throw new Error(`Cannot sign in: ${JSON.stringify(answer.body)}`)
  return browser
}
