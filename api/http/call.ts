import { refuse, refuseField } from '../../core/errors.ts'
import { decodeId } from '../../core/ids.ts'
import { demand, type Access, type Principal } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'
import { refuseUnstorable } from './body.ts'
import { badRequest, faultsOf, refuseMoving } from './failure.ts'
import { KIND_OF, Name } from './fields.ts'
import type { Answer, Call, KeyedRoute, PublicRoute, Route } from './route.ts'

/** A request before the schemas of its route, whichever way it came. */
export interface RawInput {
  /** By the names in the path of the route. */
  params: Readonly<Record<string, string>>
  query: unknown
  /** By their names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The parsed JSON; undefined when there is none. Read after the params, which name what is not found. */
  body: () => unknown
  hasLeft?: () => boolean
}

/** Runs a route for whoever was admitted, by a key or in another way. Throws what the request is refused with. */
export async function runRoute(
  deps: Deps,
  route: KeyedRoute,
  access: Access,
  raw: RawInput,
): Promise<Answer> {
  const { principal } = access
  demand(principal, route.permission)
  const input = readInput(route, raw, (sent) => demandKind(route, principal, sent))
  if (route.method !== 'GET') await refuseMoving(deps.db, principal.organisationId)
  return await route.handle({ deps, ...access, ...input, hasLeft: raw.hasLeft })
}

/** Runs a route that anybody may call. */
export async function runPublic(
  deps: Deps,
  route: PublicRoute,
  { remoteIp, admitted }: { remoteIp: string; admitted: unknown },
  raw: RawInput,
): Promise<Answer> {
  return await route.handle({ deps, remoteIp, admitted, ...readInput(route, raw) })
}

/** The input of a request after the schemas of its route. Throws what the request is refused with. */
export function readInput(
  route: Pick<Route, 'params' | 'query' | 'body' | 'headers'>,
  raw: RawInput,
  onBody?: (sent: unknown) => void,
): Pick<Call, 'params' | 'query' | 'body' | 'headers'> {
  const params = readParams(route, raw.params)
  refuseUnstorable('query', raw.query)
  const query = route.query?.safeParse(raw.query)
  const sent = route.body === null ? undefined : raw.body()
  refuseUnstorable('body', sent)
  onBody?.(sent)
  // An action whose members are all optional takes no body as well as an empty one.
  const body = route.body?.safeParse(sent === undefined ? {} : sent)
  const faults = [
    ...(query?.error ? faultsOf('query', query.error) : []),
    ...(body?.error ? faultsOf('body', body.error) : []),
  ]
  if (faults.length > 0) throw badRequest(faults)
  const headers = Object.keys(route.headers ?? {}).map((name) => [name, textOf(raw.headers[name])])
  return { params, query: query?.data, body: body?.data, headers: Object.fromEntries(headers) }
}

/** Demands the permission of the kind of action before the rest of the body is checked. */
function demandKind({ needsByKind }: KeyedRoute, principal: Principal, sent: unknown): void {
  if (needsByKind === undefined || typeof sent !== 'object' || sent === null) return
  const kind = 'kind' in sent && typeof sent.kind === 'string' ? sent.kind : ''
  const need = new Map(Object.entries(needsByKind)).get(kind)
  if (need !== undefined) demand(principal, need)
}

function readParams(
  route: Pick<Route, 'params'>,
  given: RawInput['params'],
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(route.params).map(([param, kind]) => {
      const text = String(given[param])
      if (kind === 'name') return [param, readName(param, text)]
      const id = decodeId(kind, text)
      return [param, id ?? refuse('NOT_FOUND', `Cannot find ${KIND_OF[kind]} "${text}"`)]
    }),
  )
}

function readName(param: string, text: string): string {
  const path = `params.${param}`
  refuseUnstorable(path, text)
  const { data, error } = Name.safeParse(text)
  return data ?? refuseField(path, error?.issues[0]?.message ?? 'Not a name')
}

function textOf(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header)
}
