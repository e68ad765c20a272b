import { timestamp, type Clock } from '../../core/clock.ts'
import { useApiKey, type KeyUse } from '../../core/db/configuration/api-keys.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { refuse } from '../../core/errors.ts'
import { decodeId, encodeId } from '../../core/ids.ts'
import { parseApiKey } from '../../core/keys/api-key.ts'
import { API_WINDOW_SECONDS } from '../../core/limits.ts'
import type { Access } from './principal.ts'
import { TooManyRequests, type RateWindow } from './rate-limit.ts'

/** Needed to admit a key. */
export interface KeyDeps {
  db: Db
  clock: Clock
  keyPrefix: string
  requestsPerMinute: number
}

/** A request as far as it says who asks, from where, and for which project. */
export interface KeyedRequest {
  headers: {
    authorization?: string | undefined
    'x-project-id'?: string | string[] | undefined
  }
  address: string
}

/**
 * Reads the key, counts the request and finds the project, in this order and before the body is read. `onCounted` hears
 * of the key's window even if the request is refused then. (spec: Authentication)
 */
export async function admit(
  deps: KeyDeps,
  { headers, address }: KeyedRequest,
  onCounted: (window: RateWindow) => void,
): Promise<Access> {
  const named = headers['x-project-id']
  const namedProjectId = named === undefined ? undefined : decodeId('prj', String(named))
  const use = await findUse(deps, headers.authorization, { namedProjectId, address })
  const window = windowOf(deps, use)
  onCounted(window)
  refuseCrowd(deps, use, window)
  const projectId = reachedProject(use, named)
  return {
    principal: {
      organisationId: use.organisationId,
      actor: { name: `key:${encodeId('key', use.id)}`, address },
      permissions: use.permissions,
      isBound: use.projectId !== null,
    },
    reach: { organisationId: use.organisationId, projectId },
    project: () =>
      projectId ??
      use.defaultProjectId ??
      refuse('FORBIDDEN', 'Cannot tell the project: name one in X-Project-Id'),
  }
}

async function findUse(
  { db, clock, keyPrefix }: KeyDeps,
  authorization: string | undefined,
  asked: { namedProjectId: string | undefined; address: string },
): Promise<KeyUse> {
  const [, text] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  const hash = text === undefined ? undefined : parseApiKey(keyPrefix, text)
  const use = hash && (await useApiKey(db, hash, { ...asked, nowMs: clock.now() }))
  return use ?? refuse('UNAUTHORIZED', 'API key is missing, invalid, expired or revoked')
}

function windowOf({ clock, requestsPerMinute: limit }: KeyDeps, use: KeyUse): RateWindow {
  const resetSeconds = Math.max(1, Math.ceil((endOf(use) - clock.now()) / 1000))
  return { limit, left: Math.max(0, limit - use.requests), resetSeconds }
}

function refuseCrowd({ requestsPerMinute }: KeyDeps, use: KeyUse, window: RateWindow): void {
  if (use.requests <= requestsPerMinute) return
  throw new TooManyRequests(
    `More than ${requestsPerMinute} requests in a minute: wait until ${timestamp(endOf(use))}`,
    window.resetSeconds,
  )
}

function endOf({ windowStartedAt }: KeyUse): number {
  return windowStartedAt.getTime() + API_WINDOW_SECONDS * 1000
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
