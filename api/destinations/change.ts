import { isDeepStrictEqual } from 'node:util'

import type { Destination } from '../../core/db/configuration/destinations.ts'
import { MASKED_VALUE } from '../../core/delivery/delivery-headers.ts'
import { DEFAULT_RETRY_POLICY } from '../../core/delivery/retry.ts'
import { newSigningSecret } from '../../core/delivery/signature.ts'
import { checkUrl } from '../../core/egress/connect.ts'
import { refuseField, type FieldFault } from '../../core/errors.ts'
import { encodeId } from '../../core/ids.ts'
import { DELIVERY_TIMEOUT_MS_DEFAULT } from '../../core/limits.ts'
import {
  openDestinationSecrets,
  sealDestinationSecrets,
  type DestinationSecrets,
  type StoredAuth,
} from '../../core/secrets/destination-secrets.ts'
import { sameSecrets } from '../../core/secrets/same-secrets.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import type { Deps } from '../deps.ts'
import { badRequest } from '../http/failure.ts'
import { changed } from '../writes/changed.ts'
import type { AuthInput, DestinationChanges } from './shape.ts'

/** A new destination with every setting at its default. */
export function newDestination(
  { keyring }: Pick<Deps, 'keyring'>,
  given: Pick<Destination, 'id' | 'organisationId' | 'projectId' | 'name' | 'url'>,
  now: Date,
): Destination {
  const secrets: DestinationSecrets = {
    signing: { current: newSigningSecret(), previous: null },
    headers: {},
    auth: null,
  }
  return {
    ...given,
    mode: 'public',
    connectorId: null,
    isEnabled: true,
    disabledReason: null,
    method: 'POST',
    headerNames: [],
    auth: { type: 'none' },
    secrets: sealDestinationSecrets(keyring, given, secrets),
    previousSigningSecretExpiresAt: null,
    timeoutMs: DELIVERY_TIMEOUT_MS_DEFAULT,
    rateLimit: null,
    rateLimitPeriod: 'second',
    maxConcurrency: null,
    retryPolicy: { ...DEFAULT_RETRY_POLICY },
    health: 'healthy',
    resumedAt: null,
    metadata: {},
    createdAt: now,
    updatedAt: now,
  }
}

/** The destination with its changes; null puts a member back to its default. `part` begins the paths of faults. */
export function changeDestination(
  { keyring, egress, gatewayUrl }: Pick<Deps, 'keyring' | 'egress' | 'gatewayUrl'>,
  before: Destination,
  changes: DestinationChanges,
  { part, now }: { part: string; now: Date },
): Destination {
  const way = changedWay(before, changes, { part, gatewayUrl })
  // The destination's own URL is checked when its socket connects; until then a test delivery says what is wrong with it.
  if (changes.auth?.type === 'oauth2ClientCredentials') {
    refusePrivateAddress(egress, changes.auth.tokenUrl, `${part}.auth.tokenUrl`)
  }
  const isElsewhere = way.connectorId !== before.connectorId
  refuseKeptSecrets(before, changes, { part, isElsewhere })
  const { isOtherAuth, ...secretColumns } = changedSecrets(keyring, before, changes, part)
  const url = changes.url ?? before.url
  const enabled = enablement(before, changes.isEnabled)
  const isOther = isElsewhere || url !== before.url || isOtherAuth
  const isResumed = isOther || (enabled.isEnabled && !before.isEnabled)
  return {
    ...before,
    ...way,
    ...enabled,
    ...secretColumns,
    resumedAt: isResumed ? now : before.resumedAt,
    name: changes.name ?? before.name,
    url,
    method: changed(changes.method, before.method, 'POST'),
    timeoutMs: changed(changes.timeoutMs, before.timeoutMs, DELIVERY_TIMEOUT_MS_DEFAULT),
    rateLimit: changed(changes.rateLimit, before.rateLimit, null),
    rateLimitPeriod: changed(changes.rateLimitPeriod, before.rateLimitPeriod, 'second'),
    maxConcurrency: changed(changes.maxConcurrency, before.maxConcurrency, null),
    retryPolicy: changed(changes.retryPolicy, before.retryPolicy, DEFAULT_RETRY_POLICY),
    metadata: changed(changes.metadata, before.metadata, {}),
    updatedAt: now,
  }
}

/** The change as the audit records it, without header values and secrets of `auth`. */
export function shownChanges(changes: DestinationChanges): Record<string, unknown> {
  const { headers, auth, connectorId, ...rest } = changes
  return {
    ...rest,
    ...(connectorId !== undefined && {
      connectorId: connectorId === null ? null : encodeId('cnr', connectorId),
    }),
    ...(headers !== undefined && { headers: Object.keys(headers ?? {}) }),
    ...(auth !== undefined && { auth: auth === null ? null : splitAuth(auth).auth }),
  }
}

/** How it is reached. An absent gateway is said at once, not when the first delivery waits for it. */
function changedWay(
  before: Destination,
  changes: DestinationChanges,
  { part, gatewayUrl }: { part: string; gatewayUrl: string | undefined },
): Pick<Destination, 'mode' | 'connectorId'> {
  const mode = changed(changes.mode, before.mode, 'public')
  if (mode === 'public') {
    if (changes.connectorId !== undefined && changes.connectorId !== null) {
      refuseField(`${part}.connectorId`, 'Only a private destination has a connector')
    }
    return { mode, connectorId: null }
  }
  if (gatewayUrl === undefined && before.mode !== mode) {
    refuseField(`${part}.mode`, 'private delivery is not configured on this deployment')
  }
  const connectorId = changed(changes.connectorId, before.connectorId, null)
  if (connectorId === null) {
    refuseField(`${part}.connectorId`, 'Required: a private destination is reached by a connector')
  }
  return { mode, connectorId }
}

function refusePrivateAddress({ isAllowed }: Deps['egress'], url: string, path: string): void {
  if (checkUrl(new URL(url), isAllowed) !== undefined) {
    refuseField(path, 'The address is private or reserved')
  }
}

function enablement(
  before: Destination,
  change: boolean | null | undefined,
): Pick<Destination, 'isEnabled' | 'disabledReason' | 'health'> {
  const isEnabled = changed(change, before.isEnabled, true)
  if (isEnabled === before.isEnabled) {
    return { isEnabled, disabledReason: before.disabledReason, health: before.health }
  }
  return isEnabled
    ? { isEnabled, disabledReason: null, health: 'healthy' }
    : { isEnabled, disabledReason: 'manual', health: 'disabled' }
}

interface SecretColumns extends Pick<Destination, 'headerNames' | 'auth' | 'secrets'> {
  isOtherAuth: boolean
}

/** Opens and seals only what is named: another change leaves the sealed bytes as they are, and needs no key. */
function changedSecrets(
  keyring: Keyring,
  before: Destination,
  changes: DestinationChanges,
  part: string,
): SecretColumns {
  const { headerNames, auth, secrets } = before
  if (!namesSecrets(before, changes)) return { headerNames, auth, secrets, isOtherAuth: false }
  const held = openDestinationSecrets(keyring, before)
  const headers = changedHeaders(held.headers, changes.headers, part)
  const next = changedAuth(before, held.auth, changes.auth, part)
  const sealed = { ...held, headers, auth: next.secret }
  return {
    headerNames: Object.keys(headers),
    auth: next.auth,
    secrets: sameSecrets(held, sealed) ? secrets : sealDestinationSecrets(keyring, before, sealed),
    isOtherAuth:
      !sameSecrets([held.auth], [next.secret]) || !isDeepStrictEqual(plain(auth), plain(next.auth)),
  }
}

/** None are named by a `PUT` that declares no headers and no authentication where there are none. */
function namesSecrets(before: Destination, { headers, auth }: DestinationChanges): boolean {
  const hasHeaders = before.headerNames.length > 0 || Object.keys(headers ?? {}).length > 0
  const hasAuth = before.auth.type !== 'none' || (auth ?? NO_AUTH).type !== 'none'
  return (headers !== undefined && hasHeaders) || (auth !== undefined && hasAuth)
}

/** Members that are undefined and members that are absent are the same. */
function plain(auth: StoredAuth): unknown {
  return JSON.parse(JSON.stringify(auth))
}

/** A shown value that comes back keeps what is stored: reading and writing a destination changes nothing. */
function changedHeaders(
  held: Record<string, string>,
  changes: Record<string, string> | null | undefined,
  part: string,
): Record<string, string> {
  if (changes === undefined) return held
  return Object.fromEntries(
    Object.entries(changes ?? {}).map(([name, value]) => {
      if (value !== MASKED_VALUE) return [name, value]
      const kept = Object.hasOwn(held, name) ? held[name] : undefined
      return [name, kept ?? refuseField(`${part}.headers.${name}`, 'No value is stored to keep')]
    }),
  )
}

/**
 * Secrets are write-only: whoever could have them sent elsewhere could read them. Another origin or token URL demands
 * again what would be sent there; a `PUT` that leaves it out drops it.
 */
function refuseKeptSecrets(
  before: Destination,
  { url, headers, auth }: DestinationChanges,
  { part, isElsewhere: isOtherWay }: { part: string; isElsewhere: boolean },
): void {
  const isElsewhere =
    isOtherWay || (url !== undefined && new URL(url).origin !== new URL(before.url).origin)
  const faults: FieldFault[] = []
  const demand = (member: string, message: string): void => {
    faults.push({ path: `${part}.${member}`, message })
  }
  if (isElsewhere) {
    for (const name of keptHeaders(before.headerNames, headers)) {
      demand(
        `headers.${name}`,
        'Required: the value is not sent to another origin, or by another way, than before',
      )
    }
  }
  const { auth: next, secret } =
    auth === undefined ? { auth: before.auth, secret: undefined } : splitAuth(auth ?? NO_AUTH)
  const isKept = next.type === before.auth.type && next.type !== 'none' && secret === undefined
  if (isKept && (isElsewhere || tokenUrlOf(next) !== tokenUrlOf(before.auth))) {
    const where = isOtherWay ? 'connector' : isElsewhere ? 'origin' : 'token URL'
    demand(
      `auth.${secretMemberOf(before.auth)}`,
      `Required: the secret is not sent to another ${where} than before`,
    )
  }
  if (faults.length > 0) throw badRequest(faults)
}

/** Names of the stored headers whose values would stay. */
function keptHeaders(
  held: readonly string[],
  changes: Record<string, string> | null | undefined,
): readonly string[] {
  if (changes === undefined) return held
  return held.filter((name) => changes?.[name] === MASKED_VALUE)
}

const NO_AUTH: AuthInput = { type: 'none' }

function tokenUrlOf(auth: StoredAuth): string | undefined {
  return auth.type === 'oauth2ClientCredentials' ? auth.tokenUrl : undefined
}

function secretMemberOf({ type }: StoredAuth): string {
  if (type === 'basic') return 'password'
  return type === 'bearer' ? 'token' : 'clientSecret'
}

function changedAuth(
  before: Destination,
  held: string | null,
  change: AuthInput | null | undefined,
  part: string,
): { auth: StoredAuth; secret: string | null } {
  if (change === undefined) return { auth: before.auth, secret: held }
  const { auth, secret } = splitAuth(change ?? NO_AUTH)
  if (auth.type === 'none' || secret !== undefined) return { auth, secret: secret ?? null }
  const kept = before.auth.type === auth.type ? held : null
  return { auth, secret: kept ?? refuseField(`${part}.auth.${secretMemberOf(auth)}`, 'Required') }
}

function splitAuth(input: AuthInput): {
  auth: StoredAuth
  secret: string | undefined
} {
  switch (input.type) {
    case 'none':
      return { auth: input, secret: undefined }
    case 'basic': {
      const { password, ...auth } = input
      return { auth, secret: password }
    }
    case 'bearer':
      return { auth: { type: 'bearer' }, secret: input.token }
    case 'oauth2ClientCredentials': {
      const { clientSecret, ...auth } = input
      return { auth, secret: clientSecret }
    }
  }
}
