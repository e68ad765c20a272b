import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { ROLES } from '../../core/accounts/role.ts'
import type { AccountRoute } from './account-route.ts'
import { ACCOUNT_ROUTES } from './account-routes.ts'

const PAGE = readFileSync(new URL('../../docs/accounts.md', import.meta.url), 'utf8')

/** A row of an endpoint: its method, its path if that is not the prefix itself, and the cell behind. */
const ROW = /^\| `(GET|POST|PUT|PATCH|DELETE)(?: (\/[^`]*))?`[^|]*\|([^|]*)\|/
const PREFIX = /^Paths begin with `([^`]*)`/

interface Documented {
  /** `POST /auth/organisations/{org}/keys` */
  endpoint: string
  /** In the tables of an organisation: who may call it. */
  second: string
  row: string
}

function documented(): Documented[] {
  let prefix = ''
  return PAGE.split('\n').flatMap((row) => {
    prefix = row.startsWith('## ') ? '' : (PREFIX.exec(row)?.[1] ?? prefix)
    const [, method, path = '', second = ''] = ROW.exec(row) ?? []
    if (method === undefined) return []
    const whole = path.startsWith('/auth/') ? path : `${prefix}${path}`
    return [{ endpoint: `${method} ${whole}`, second: second.trim(), row }]
  })
}

/** As the page writes it: a parameter has the name of its kind of ids. */
function endpointOf({ method, path, params }: AccountRoute): string {
  const named = path.replaceAll(/:(\w+)/g, (_, name: string) => `{${params[name] ?? name}}`)
  return `${method} /auth${named}`
}

const routes = ACCOUNT_ROUTES.map(endpointOf)

test('docs/accounts.md has a row for each endpoint of /auth, and for no other', () => {
  expect(routes.length).toBeGreaterThan(20)
  const rows = documented().map(({ endpoint }) => endpoint)
  expect(rows.toSorted()).toEqual(routes.toSorted())
})

test('docs/accounts.md speaks of no endpoint of /auth that is not there', () => {
  const places = PAGE.matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/auth\/[^`]*)`/g)
  const named = [...places].map(([, endpoint = '']) => endpoint)
  expect(named.filter((endpoint) => !routes.includes(endpoint))).toEqual([])
})

test('docs/accounts.md says who may call an endpoint of an organisation, and which are fresh', () => {
  const rows = new Map(documented().map((one) => [one.endpoint, one]))
  const wrong = ACCOUNT_ROUTES.filter((route) => {
    const { second = '', row = '' } = rows.get(endpointOf(route)) ?? {}
    const isOfRole = ROLES.some((role) => role === route.who)
    const isFresh = row.includes('_Fresh._')
    return (isOfRole && second !== route.who) || isFresh !== (route.isFresh === true)
  })
  expect(wrong.map(endpointOf)).toEqual([])
})
