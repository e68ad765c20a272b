import type { FastifyReply, FastifyRequest } from 'fastify'

import { timestamp } from '../core/clock.ts'
import { useApiKey, type KeyUse } from '../core/db/configuration/api-keys.ts'
import type { Reach } from '../core/db/lists/page.ts'
import { refuse } from '../core/errors.ts'
import { decodeId, encodeId } from '../core/ids.ts'
import { parseApiKey } from '../core/keys/api-key.ts'
import { covers, Permissions } from '../core/keys/permissions.ts'
import { API_WINDOW_SECONDS } from '../core/limits.ts'
import type { Deps } from './deps.ts'
import type { Permission } from './route.ts'

/** Who acts. Routes are written against this, not against keys. */
export interface Principal {
  organisationId: string
  /** As it stands in the audit: `key:key_…`. */
  actor: string
  /** Null: unscoped, a member of the organisation. */
  permissions: Permissions | null
  /** Bound to one project, and so unable to make others. */
  isBound: boolean
}

/** What authentication leaves for the handler. */
export interface Access {
  principal: Principal
  reach: Reach
  project: () => string
}

/** The key's window is used up: the one refusal without a code. (spec: Limits, "API requests") */
export class TooManyRequests extends Error {
  override readonly name = 'TooManyRequests'
  readonly retryAfterSeconds: number

  constructor(message: string, retryAfterSeconds: number) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * Reads the key, counts the request, finds the project and checks the permission, in this order and before the body
 * is read. (spec: Authentication)
 */
export async function admit(
  deps: Deps,
  permission: Permission,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Access> {
  const named = request.headers['x-project-id']
  const namedProjectId =
    named === undefined ? undefined : (decodeId('prj', String(named)) ?? 'malformed')
  const use = await findUse(
    deps,
    request,
    namedProjectId === 'malformed' ? undefined : namedProjectId,
  )
  countRequest(deps, use, reply)
  const projectId = reachedProject(use, named)
  const permissions = use.permissions === null ? null : Permissions.parse(use.permissions)
  if (permission !== 'any_key' && !covers(permissions, permission)) refuseNeed(permission)
  return {
    principal: {
      organisationId: use.organisationId,
      actor: `key:${encodeId('key', use.id)}`,
      permissions,
      isBound: use.projectId !== null,
    },
    reach: { organisationId: use.organisationId, projectId },
    project: () =>
      projectId ??
      use.defaultProjectId ??
      refuse('FORBIDDEN', 'Cannot tell the project: name one in X-Project-Id'),
  }
}

/** For what a request only asks for in its query, such as `cascade`. */
export function demand(principal: Principal, need: Exclude<Permission, 'any_key'>): void {
  if (!covers(principal.permissions, need)) refuseNeed(need)
}

/** On every answer below `/v1`. (decisions: Conventions of the API) */
export function showRateLimit(
  reply: FastifyReply,
  { limit, left, resetSeconds }: { limit: number; left: number; resetSeconds: number },
): void {
  void reply.header('x-ratelimit-limit', limit)
  void reply.header('x-ratelimit-remaining', left)
  void reply.header('x-ratelimit-reset', resetSeconds)
}

async function findUse(
  deps: Deps,
  request: FastifyRequest,
  namedProjectId: string | undefined,
): Promise<KeyUse> {
  const [, text] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  const hash = text === undefined ? undefined : parseApiKey(deps.keyPrefix, text)
  const use = hash && (await useApiKey(deps.db, hash, { nowMs: deps.clock.now(), namedProjectId }))
  return use ?? refuse('UNAUTHORIZED', 'API key is missing, invalid, expired or revoked')
}

function countRequest(deps: Deps, use: KeyUse, reply: FastifyReply): void {
  const endsMs = use.windowStartedAt.getTime() + API_WINDOW_SECONDS * 1000
  const resetSeconds = Math.max(1, Math.ceil((endsMs - deps.clock.now()) / 1000))
  const limit = deps.requestsPerMinute
  showRateLimit(reply, { limit, left: Math.max(0, limit - use.requests), resetSeconds })
  if (use.requests > deps.requestsPerMinute) {
    throw new TooManyRequests(
      `More than ${deps.requestsPerMinute} requests in a minute: wait until ${timestamp(endsMs)}`,
      resetSeconds,
    )
  }
}

/** The header is checked against the organisation by the statement that read the key. */
function reachedProject(use: KeyUse, named: string | string[] | undefined): string | undefined {
  if (named === undefined) return use.projectId ?? undefined
  const isOurs =
    use.namedProjectId !== null && (use.projectId === null || use.projectId === use.namedProjectId)
  return isOurs
    ? (use.namedProjectId ?? undefined)
    : refuse('NOT_FOUND', `Cannot find project "${String(named)}"`)
}

function refuseNeed({ resource, level, isExplicit }: Exclude<Permission, 'any_key'>): never {
  const wanted = level === 'write' ? 'Read and write' : 'Read'
  refuse(
    'INSUFFICIENT_API_KEY_PERMISSIONS',
    isExplicit === true
      ? `Cannot do this with this API key: it needs an explicit grant of ${wanted} on ${resource}`
      : `Cannot do this with this API key: it needs ${wanted} on ${resource}`,
  )
}
