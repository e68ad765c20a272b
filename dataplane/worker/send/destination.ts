import type { Db } from '../../../core/db/connection/db.ts'
import type { BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import {
  findDeliveryDestination,
  type DestinationRow,
} from '../../../core/db/deliveries/work/delivery-destinations.ts'
import { partitionOf } from '../../../core/delivery/partition-of.ts'
import type { RetryPolicy } from '../../../core/delivery/retry.ts'
import { compileSigner, type Signer } from '../../../core/delivery/signature.ts'
import { checkUrl, type IsAllowed } from '../../../core/egress/connect.ts'
import { destinationPace, planPace, type Pace } from '../../../core/pacing/gcra.ts'
import { entitlementsOf, isPaced, type Plans } from '../../../core/plans/plans.ts'
import type { StoredAuth } from '../../../core/secrets/destination-secrets.ts'
import {
  openDestinationSecrets,
  type DestinationSecrets,
} from '../../../core/secrets/destination-secrets.ts'
import type { Keyring } from '../../../core/secrets/sealed.ts'

/** The two scopes that a delivery is paced by; undefined where there is no limit. (spec: Limits) */
export interface Paced {
  id: string
  organisationId: string
  pace: Pace | undefined
  organisationPace: Pace | undefined
}

/** Where a destination's access tokens come from. */
export interface ClientCredentials {
  tokenUrl: string
  clientId: string
  clientSecret: string
  scope?: string | undefined
}

/** A destination compiled for sending: nothing is parsed, decrypted or looked up per attempt. */
export interface Destination extends Paced {
  /** Whose owner sends to it: another one after a change of plan. */
  partition: number
  isEnabled: boolean
  /** Null: it is public. */
  connectorId: string | null
  url: string
  origin: string
  path: string
  method: 'POST' | 'PUT' | 'PATCH'
  /** The destination's own headers: first what its `auth` demands, save a token of OAuth 2.0. */
  headers: [string, string][]
  /** JSON of their names; null when there are none. */
  headerNames: string | null
  signer: Signer
  /** Both secrets sign until then. */
  overlap: { signer: Signer; untilMs: number } | null
  oauth2: ClientCredentials | null
  timeoutMs: number
  maxConcurrency: number | null
  retryPolicy: RetryPolicy
  /** The host is a literal address that may not be reached. */
  isBlocked: boolean
  /** When it became another, or was enabled: what it answered before says nothing. */
  resumedAtMs: number | null
  /** As it was written down when the destination was read: for a lane that is opened then. */
  busy: BusyWindow | null
}

/** Parts that are needed to compile a destination, beside its row. */
export interface CompileDeps {
  keyring: Keyring
  plans: Plans
  isAllowed: IsAllowed
}

/** The destination as it is stored now; undefined when it was deleted. */
export async function readDestination(
  deps: CompileDeps & { db: Db },
  id: string,
): Promise<Destination | undefined> {
  const row = await findDeliveryDestination(deps.db, id)
  return row && compileDestination(row, deps)
}

export function compileDestination(row: DestinationRow, deps: CompileDeps): Destination {
  const secrets = openDestinationSecrets(deps.keyring, row)
  const { auth } = row
  const url = new URL(row.url)
  const names = Object.keys(secrets.headers)
  const { current, previous } = secrets.signing
  const entitlements = entitlementsOf(deps.plans, row.plan, row.overrides)
  return {
    id: row.id,
    organisationId: row.organisationId,
    isEnabled: row.isEnabled,
    connectorId: row.connectorId,
    url: url.origin + url.pathname + url.search,
    origin: url.origin,
    path: url.pathname + url.search,
    method: row.method,
    headers: [...authorization(auth, secrets), ...Object.entries(secrets.headers)],
    headerNames: names.length === 0 ? null : JSON.stringify(names),
    signer: compileSigner([current]),
    overlap:
      previous === null || row.previousSigningSecretExpiresAt === null
        ? null
        : {
            signer: compileSigner([current, previous]),
            untilMs: row.previousSigningSecretExpiresAt.getTime(),
          },
    oauth2:
      auth.type === 'oauth2ClientCredentials'
        ? { ...auth, clientSecret: secrets.auth ?? '' }
        : null,
    timeoutMs: row.timeoutMs,
    maxConcurrency: row.maxConcurrency,
    retryPolicy: row.retryPolicy,
    isBlocked: checkUrl(url, deps.isAllowed) !== undefined,
    pace: row.rateLimit === null ? undefined : destinationPace(row.rateLimit, row.rateLimitPeriod),
    organisationPace: planPace(entitlements),
    partition: partitionOf(row.organisationId, row.id, isPaced(entitlements)),
    resumedAtMs: row.resumedAt?.getTime() ?? null,
    busy: busyWindowOf(row),
  }
}

function busyWindowOf({ busySince, busyUntil, busyStatus }: DestinationRow): BusyWindow | null {
  if (busySince === null || busyUntil === null || busyStatus === null) return null
  return {
    sinceMs: busySince.getTime(),
    untilMs: busyUntil.getTime(),
    responseStatus: busyStatus,
  }
}

function authorization(auth: StoredAuth, secrets: DestinationSecrets): [string, string][] {
  const secret = secrets.auth ?? ''
  switch (auth.type) {
    case 'none':
    case 'oauth2ClientCredentials':
      return []
    case 'basic': {
      const credentials = Buffer.from(`${auth.username}:${secret}`).toString('base64')
      return [['authorization', `Basic ${credentials}`]]
    }
    case 'bearer':
      return [['authorization', `Bearer ${secret}`]]
  }
}
