import type { Clock } from '../../../core/clock.ts'
import { toSubscription } from '../../../core/db/billing/subscriptions.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  findIngestSource,
  type IngestSourceRow,
} from '../../../core/db/events/ingest/ingest-sources.ts'
import type { Quota } from '../../../core/db/events/ingest/store-capped-events.ts'
import { partitionOf } from '../../../core/delivery/partition-of.ts'
import type { CompiledFilter } from '../../../core/match/filter.ts'
import { compileSelector, type CompiledSelector } from '../../../core/match/selector.ts'
import type { ConfigChange } from '../../../core/notices/config-changes.ts'
import { isPaced, type Plans } from '../../../core/plans/plans.ts'
import { hardCapOf, standingAt, type Standing } from '../../../core/plans/standing.ts'
import type { Keyring } from '../../../core/secrets/sealed.ts'
import { openSourceSecrets } from '../../../core/secrets/source-secrets.ts'
import type { IngestResponse } from '../../../core/verify/config/ingest-response.ts'
import { VerifierConfig } from '../../../core/verify/config/verifier-config.ts'
import { handshakeKind, type HandshakeSecrets } from '../../../core/verify/handshake.ts'
import { compileVerifier, type CompiledVerifier } from '../../../core/verify/verify.ts'
import { CompiledFilters, FilterMemory, type SourceFilters } from './compiled-filters.ts'

/** Sources kept compiled in one process, and unknown masks remembered. The least used give way. */
const SOURCES_MAX = 50_000
const UNKNOWN_MAX = 10_000
const UNKNOWN_MS = 1_000

/** (decisions: Ingest, "A mask id is 26 lower-case base32 characters") */
const MASK_ID = /^[a-z0-9]{26}$/

export interface IngestConnection {
  id: string
  destinationId: string
  isEnabled: boolean
  filter: CompiledFilter | undefined
  partition: number
  maxAttempts: number
}

/** A source compiled for ingest: verifying and matching read nothing else. */
export interface IngestSource {
  id: string
  organisationId: string
  /** The share of the organisation. */
  share: string
  projectId: string
  name: string
  kind: string
  isEnabled: boolean
  /** Its organisation has moved to another installation. */
  isClosed: boolean
  allowedMethods: ReadonlySet<string>
  maxBytes: number
  config: VerifierConfig | undefined
  secrets: HandshakeSecrets
  verifier: CompiledVerifier
  /** With the previous secret, until its overlap ends. */
  overlap: { verifier: CompiledVerifier; untilMs: number; rotationId: string | null } | undefined
  handshake: ReturnType<typeof handshakeKind>
  eventType: CompiledSelector | undefined
  idempotencyKeys: readonly CompiledSelector[]
  response: IngestResponse
  /** Requests per second; 0 is unlimited. */
  rateLimit: number
  /** Requests per second of the organisation; null is unlimited. */
  clamp: number | null
  retentionClass: number
  /** The quota of the window that a moment is in; null where nothing is refused. */
  quotaAt: (nowMs: number) => Quota | null
  /** Until then the plan is what it is now. */
  holdsUntilMs: number
  connections: readonly IngestConnection[]
  /** Filters of the enabled connections that have one, in their order. */
  filters: readonly CompiledFilter[]
  /** Length of all its filters as text. */
  filterCharacters: number
}

export interface SourcesDeps {
  db: Db
  keyring: Keyring
  clock: Clock
  plans: Plans
  /** Where a spool takes events meanwhile: whether PostgreSQL is known to be away. */
  isAway?: (() => boolean) | undefined
}

/** Compiled sources by mask id, loaded when first asked for and kept until a change is heard of. */
export class Sources {
  readonly #deps: SourcesDeps
  readonly #byMask = new Map<string, IngestSource>()
  readonly #masks = new Map<string, string>()
  readonly #loading = new Map<string, Promise<IngestSource | undefined>>()
  readonly #unknown = new Map<string, number>()
  readonly #again = new Set<string>()
  readonly #filters: CompiledFilters
  readonly #filterMemory = new FilterMemory()
  #isLoadingAgain = false
  /** Changes that arrived during each read under way: a source that one of them concerns is read again. */
  readonly #arrived = new Set<ConfigChange[]>()

  constructor(deps: SourcesDeps) {
    this.#deps = deps
    this.#filters = new CompiledFilters(deps.db)
  }

  /**
   * Undefined when no source has the mask id. Rejects while PostgreSQL is away and the source is not cached. A
   * cached source stays valid through a spooled outage, even past the term of its plan.
   */
  get(maskId: string): IngestSource | undefined | Promise<IngestSource | undefined> {
    const known = this.#byMask.get(maskId)
    const isAway = this.#deps.isAway?.() === true
    if (known !== undefined && (isAway || known.holdsUntilMs > this.#deps.clock.now())) return known
    if (!MASK_ID.test(maskId)) return undefined
    const unknownUntil = this.#unknown.get(maskId)
    if (unknownUntil !== undefined && unknownUntil > performance.now()) return undefined
    const underway = this.#loading.get(maskId)
    if (underway !== undefined) return underway
    if (isAway) return Promise.reject(new Error('Cannot look a source up: PostgreSQL is away'))
    const loading = this.#load(maskId).finally(() => this.#loading.delete(maskId))
    this.#loading.set(maskId, loading)
    return loading
  }

  forget(changes: readonly ConfigChange[]): void {
    for (const arrived of this.#arrived) arrived.push(...changes)
    if (changes.some(({ kind }) => kind === 'source')) this.#unknown.clear()
    const dropped = changes.flatMap(({ kind, id }) =>
      kind === 'source'
        ? this.#drop(this.#masks.get(id))
        : this.#dropWhere((source) => uses(source, kind, id)),
    )
    if (this.#deps.isAway !== undefined) void this.#loadAgain(dropped)
  }

  /** Where a spool takes events, what was served before a change must be known when PostgreSQL goes away after it. */
  async #loadAgain(maskIds: readonly string[]): Promise<void> {
    for (const maskId of maskIds) this.#again.add(maskId)
    if (this.#isLoadingAgain) return
    this.#isLoadingAgain = true
    for (const maskId of this.#again) {
      this.#again.delete(maskId)
      try {
        await this.get(maskId)
      } catch {
        // The next request for it asks again, and hears what is wrong.
      }
    }
    this.#isLoadingAgain = false
  }

  /** Returns what was dropped. */
  #drop(maskId: string | undefined): string[] {
    const source = maskId === undefined ? undefined : this.#byMask.get(maskId)
    if (maskId === undefined || source === undefined) return []
    this.#byMask.delete(maskId)
    this.#masks.delete(source.id)
    this.#filterMemory.add(source.organisationId, -source.filterCharacters)
    return [maskId]
  }

  #dropWhere(applies: (source: IngestSource) => boolean): string[] {
    return [...this.#byMask].flatMap(([maskId, source]) =>
      applies(source) ? this.#drop(maskId) : [],
    )
  }

  async #load(maskId: string): Promise<IngestSource | undefined> {
    const arrived: ConfigChange[] = []
    this.#arrived.add(arrived)
    try {
      for (;;) {
        arrived.length = 0
        const row = await findIngestSource(this.#deps.db, maskId)
        const filters = row && (await this.#filters.of(row.connections))
        if (arrived.some((change) => concerns(change, row))) continue
        if (row === undefined) return this.#noteUnknown(maskId)
        if (filters !== undefined)
          return this.#keep(maskId, compileSource(row, filters, this.#deps))
      }
    } finally {
      this.#arrived.delete(arrived)
    }
  }

  #noteUnknown(maskId: string): undefined {
    if (this.#unknown.size >= UNKNOWN_MAX) this.#unknown.clear()
    this.#unknown.set(maskId, performance.now() + UNKNOWN_MS)
    return undefined
  }

  #keep(maskId: string, source: IngestSource): IngestSource {
    // A source may be found by a new mask before its change arrives: its former mask must not stay behind.
    this.#drop(this.#masks.get(source.id))
    if (this.#byMask.size >= SOURCES_MAX) this.#drop(this.#byMask.keys().next().value)
    this.#byMask.set(maskId, source)
    this.#masks.set(source.id, maskId)
    this.#filterMemory.add(source.organisationId, source.filterCharacters)
    this.#makeRoom(maskId)
    return source
  }

  /** A source stays while it is the only one, however many filters it has. */
  #makeRoom(newest: string): void {
    for (;;) {
      const debtor = this.#filterMemory.debtor()
      if (debtor === undefined) return
      const oldest = this.#byMask
        .entries()
        .find(
          ([maskId, source]) =>
            maskId !== newest && source.organisationId === debtor && source.filterCharacters > 0,
        )
      if (oldest === undefined) return
      this.#drop(oldest[0])
    }
  }
}

/** A source that is not there may be the one that a change of a source names. */
function concerns({ kind, id }: ConfigChange, row: IngestSourceRow | undefined): boolean {
  if (kind === 'source') return row === undefined || row.id === id
  return row !== undefined && uses(row, kind, id)
}

interface Users {
  organisationId: string
  connections: readonly { destinationId: string }[]
}

function uses(source: Users, kind: 'organisation' | 'destination', id: string): boolean {
  if (kind === 'organisation') return source.organisationId === id
  return source.connections.some((connection) => connection.destinationId === id)
}

function compileSource(
  row: IngestSourceRow,
  filters: SourceFilters,
  deps: SourcesDeps,
): IngestSource {
  const secrets = openSourceSecrets(deps.keyring, row)
  // A verifier that a newer version stored does not parse; it compiles to one that rejects with the reason.
  const config = VerifierConfig.safeParse(row.verifier).data
  const slots = { current: secrets.current, members: secrets.members }
  const terms = termsOf(row, deps)
  const overlapUntilMs = row.previousSecretExpiresAt?.getTime() ?? 0
  return {
    id: row.id,
    organisationId: row.organisationId,
    share: row.share,
    projectId: row.projectId,
    name: row.name,
    kind: row.kind,
    isEnabled: row.isEnabled,
    isClosed: row.isClosed,
    allowedMethods: new Set(row.allowedMethods),
    maxBytes: row.maxPayloadSizeKb * 1_024,
    config,
    secrets: { ...slots, previous: secrets.previous, verifyToken: secrets.verifyToken },
    verifier: compileVerifier(verifierOf(row), slots),
    overlap:
      secrets.previous === undefined
        ? undefined
        : {
            verifier: compileVerifier(row.verifier, { ...slots, previous: secrets.previous }),
            untilMs: overlapUntilMs,
            rotationId: row.rotationId,
          },
    handshake: config === undefined ? undefined : handshakeKind(config),
    eventType: row.eventTypeField === null ? undefined : compileSelector(row.eventTypeField),
    idempotencyKeys: row.idempotencyKeys.map(compileSelector),
    response: row.ingestResponse,
    rateLimit: row.rateLimit,
    clamp: terms.standing.ingestRequestsPerSecond,
    retentionClass: row.retentionClass,
    quotaAt: terms.quotaAt,
    holdsUntilMs: terms.holdsUntilMs,
    connections: row.connections.map((connection) => ({
      id: connection.id,
      destinationId: connection.destinationId,
      isEnabled: connection.isEnabled,
      filter: filters.byConnection.get(connection.id),
      partition: partitionOf(
        row.organisationId,
        connection.destinationId,
        isPaced(terms.standing.entitlements),
      ),
      maxAttempts: connection.maxAttempts,
    })),
    filters: row.connections.flatMap(({ id, isEnabled }) =>
      isEnabled ? (filters.byConnection.get(id) ?? []) : [],
    ),
    filterCharacters: filters.characters,
  }
}

/** A source of mail that was made before it had a verifier takes every mail. */
function verifierOf({ kind, verifier }: IngestSourceRow): unknown {
  const isBare = kind === 'email' && VerifierConfig.safeParse(verifier).data?.type === 'none'
  return isBare ? { type: 'email' } : verifier
}

/** The terms of the plan: it changes by itself only at the end of a subscription's period. */
function termsOf(
  row: IngestSourceRow,
  { plans, clock }: SourcesDeps,
): Pick<IngestSource, 'quotaAt' | 'holdsUntilMs'> & { standing: Standing } {
  const subscription = toSubscription(row)
  const rows = { plan: row.ownPlan, overrides: row.overrides, subscription }
  const standing = standingAt(plans, rows, clock.now())
  const isActive = standing.subscription?.status === 'active'
  return {
    standing,
    holdsUntilMs: isActive ? standing.window.endsAtMs : Infinity,
    // A request that waited for its batch beyond the end of a window is counted in the next one.
    quotaAt: (nowMs) =>
      quotaOf(nowMs < standing.window.endsAtMs ? standing : standingAt(plans, rows, nowMs)),
  }
}

function quotaOf({ entitlements, window }: Standing): Quota | null {
  const limit = hardCapOf(entitlements)
  if (limit === null) return null
  return { limit, windowStartedAtMs: window.startedAtMs, resetAtMs: window.endsAtMs }
}
