import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'

import { Counter, type Registry } from 'prom-client'

import { DAY_MS, type Clock } from '../../../core/clock.ts'
import {
  isShareSpent,
  type OrganisationShares,
} from '../../../core/db/configuration/organisation-shares.ts'
import { findOrganisation } from '../../../core/db/configuration/organisations.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  databaseIdentity,
  liveGrants,
  type StreamGrant,
  type StreamRights,
} from '../../../core/db/events/event-stream.ts'
import { refuseField } from '../../../core/errors.ts'
import { decodeId } from '../../../core/ids.ts'
import { STREAMS_PER_ORGANISATION, STREAMS_PER_PROCESS } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import { gaugeOf } from '../../../core/metrics/instruments.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { Semaphore } from '../../../core/pacing/semaphore.ts'
import { entitlementsOf, type Plans } from '../../../core/plans/plans.ts'
import type { Principal } from '../../auth/principal.ts'
import { TooManyRequests } from '../../auth/rate-limit.ts'
import type { EventStreams, StreamRequest } from '../../deps.ts'
import { HorizonReader } from './horizon.ts'
import { LiveStream } from './live-stream.ts'
import type { GapReason } from './message.ts'
import { readPosition, streamName, type Position } from './position.ts'
import { ProjectTail } from './project-tail.ts'

/** Limits of the streams of a process. Tests make them smaller. */
export interface StreamLimits {
  perKey: number
  perOrganisation: number
  perProcess: number
  pingMs: number
  /** Not yet taken by one client. */
  bufferBytes: number
  bufferMessages: number
}

const LIMITS: StreamLimits = {
  perKey: 20,
  perOrganisation: STREAMS_PER_ORGANISATION,
  perProcess: STREAMS_PER_PROCESS,
  pingMs: 15_000,
  bufferBytes: 1024 * 1024,
  bufferMessages: 2_000,
}

/** Statements that streams may have under way: the rest of the connection pool is for requests. */
const STATEMENTS_MAX = 2

/** A stream ends within 1 s of its key or session, and of a change of its rights. (decisions: Statistics and stream) */
const GRANTS_MS = 800

/** A client that found no place tries again. */
const RETRY_AFTER_SECONDS = 3

interface Open {
  actor: string
  share: string
  grant: StreamGrant
  /** As the key or person had them when admitted. */
  rights: string
}

interface LiveStreamsDeps {
  db: Db
  nats: NatsConnection
  clock: Clock
  log: Logger
  registry: Registry
  plans: Plans
  shares: OrganisationShares
}

interface Gap {
  reason: GapReason
  fromMs: number | null
}

/** The event streams that are open in this process, with one reader for each project that has any. */
export class LiveStreams implements EventStreams {
  readonly #deps: LiveStreamsDeps
  readonly #limits: StreamLimits
  readonly #horizon: HorizonReader
  readonly #turns = new Semaphore(STATEMENTS_MAX)
  readonly #slow: Counter
  readonly #open = new Map<LiveStream, Open>()
  readonly #tails = new Map<string, ProjectTail>()
  #grants: NodeJS.Timeout | undefined
  #isChecking = false
  #identity: Promise<string> | undefined
  #isClosed = false

  /** `limits`: smaller ones than those of a process in service, for tests. */
  constructor(deps: LiveStreamsDeps, limits: Partial<StreamLimits> = {}) {
    this.#deps = deps
    this.#limits = { ...LIMITS, ...limits }
    this.#horizon = new HorizonReader(deps.db, deps.clock)
    this.#slow = new Counter({
      name: 'postern_api_slow_event_streams_total',
      help: 'Event streams that were cut off because their clients did not keep up',
      registers: [deps.registry],
    })
    gaugeOf(
      deps.registry,
      { name: 'postern_api_event_streams', help: 'Event streams that are open' },
      () => this.#open.size,
    )
    gaugeOf(
      deps.registry,
      {
        name: 'postern_api_event_stream_projects',
        help: 'Projects whose new events are read for event streams',
      },
      () => this.#tails.size,
    )
  }

  /** The body of the answer. Refuses a position that is none, and one stream too many. */
  async open(request: StreamRequest): Promise<Readable> {
    const { principal, projectId, filter, written, lastEventId } = request
    const resumed = lastEventId === undefined ? undefined : readPosition(lastEventId)
    if (lastEventId !== undefined && resumed === undefined) {
      refuseField('headers.last-event-id', 'Not a position of this stream')
    }
    const share = await this.#deps.shares.of(principal.organisationId)
    this.#refuseCrowd(principal, share)
    const name = streamName([await this.#database(), projectId, ...written])
    const gap = resumed && (await this.#gapOf(request, resumed.stream === name, resumed.position))
    // Others may have come in the meantime.
    this.#refuseCrowd(principal, share)
    const { pingMs, bufferBytes, bufferMessages } = this.#limits
    const stream = new LiveStream(
      {
        ...this.#deps,
        turns: this.#turns,
        tail: this.#tailOf(projectId),
        noteSlow: () => this.#slow.inc(),
      },
      { projectId, filter, name, pingMs, bufferBytes, bufferMessages },
    )
    this.#add(stream, request, share)
    if (gap !== undefined) stream.sayGap(gap.reason, gap.fromMs)
    void stream.run(gap === undefined ? resumed?.position : undefined)
    return stream.writer
  }

  /** Ends all of them: their clients connect again, to another process. */
  close(): void {
    this.#isClosed = true
    for (const stream of this.#open.keys()) stream.end()
  }

  #refuseCrowd({ actor, person }: Principal, share: string): void {
    const { perKey, perOrganisation, perProcess } = this.#limits
    const open = [...this.#open.values()]
    const own = open.filter((one) => one.share === share && one.actor === actor.name).length
    if (own >= perKey) {
      const by = person === undefined ? 'API key' : 'person'
      throw new TooManyRequests(
        `More than ${perKey} event streams are open for this ${by}`,
        RETRY_AFTER_SECONDS,
      )
    }
    const used = open.map((one) => one.share)
    if (isShareSpent(share, used, { own: perOrganisation, whole: perProcess })) {
      throw new TooManyRequests(
        `More than ${perOrganisation} event streams of the organisation are open here`,
        RETRY_AFTER_SECONDS,
      )
    }
    if (this.#open.size >= perProcess || this.#isClosed) {
      throw new TooManyRequests(
        'Cannot open another event stream here: try again',
        RETRY_AFTER_SECONDS,
      )
    }
  }

  async #database(): Promise<string> {
    this.#identity ??= databaseIdentity(this.#deps.db)
    return await this.#identity.catch((error: unknown) => {
      this.#identity = undefined
      throw error
    })
  }

  /** Why the stream cannot go on behind a position; undefined when it can. */
  async #gapOf(
    { principal }: StreamRequest,
    isOurs: boolean,
    { until, afterId, from }: Position,
  ): Promise<Gap | undefined> {
    const { db, clock, plans } = this.#deps
    const fromMs = afterId === null ? until.ms : from.ms
    const { newest } = await this.#horizon.read()
    if (!isOurs || until.transaction > newest.transaction)
      return { reason: 'unknown', fromMs: null }
    const organisation = await findOrganisation(db, principal.organisationId)
    if (organisation === undefined) return { reason: 'unknown', fromMs: null }
    const { retentionDays } = entitlementsOf(plans, organisation.plan, organisation.overrides)
    const isGone = fromMs < clock.now() - retentionDays * DAY_MS
    return isGone ? { reason: 'expired', fromMs } : undefined
  }

  #tailOf(projectId: string): ProjectTail {
    const known = this.#tails.get(projectId)
    if (known !== undefined) return known
    const tail = new ProjectTail(
      { ...this.#deps, horizon: this.#horizon, turns: this.#turns },
      projectId,
    )
    this.#tails.set(projectId, tail)
    return tail
  }

  #add(stream: LiveStream, { principal, projectId }: StreamRequest, share: string): void {
    this.#open.set(stream, {
      actor: principal.actor.name,
      share,
      grant: { ...credentialOf(principal), projectId },
      rights: textOf(principal.person ?? principal),
    })
    this.#grants ??= setInterval(() => void this.#checkGrants(), GRANTS_MS).unref()
    stream.writer.on('close', () => this.#remove(stream, projectId))
  }

  #remove(stream: LiveStream, projectId: string): void {
    this.#open.delete(stream)
    const tail = this.#tails.get(projectId)
    if (tail?.isUnused === true && !this.#isShown(projectId)) {
      tail[Symbol.dispose]()
      this.#tails.delete(projectId)
    }
    if (this.#open.size > 0) return
    clearInterval(this.#grants)
    this.#grants = undefined
  }

  #isShown(projectId: string): boolean {
    return [...this.#open.values()].some(({ grant }) => grant.projectId === projectId)
  }

  async #checkGrants(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    const { db, clock, log } = this.#deps
    try {
      const open = [...this.#open]
      const live = await liveGrants(db, distinct(open.map(([, { grant }]) => grant)), clock.now())
      const rightsNow = new Map(live.map((grant) => [nameOf(grant), textOf(grant.rights)]))
      for (const [stream, { grant, rights }] of open) {
        if (rightsNow.get(nameOf(grant)) !== rights) stream.end()
      }
    } catch (err) {
      // Without the database nothing comes either: the streams stay until it can be asked.
      log.warn({ err }, 'Cannot check the rights of event streams')
    } finally {
      this.#isChecking = false
    }
  }
}

function credentialOf({ actor, person }: Principal): Omit<StreamGrant, 'projectId'> {
  const session = person?.sessionId ?? undefined
  if (session !== undefined) return { by: 'session', id: session }
  const id = decodeId('key', actor.name.replace('key:', ''))
  assert(id !== undefined, 'Only the streams of keys and of sessions are watched')
  return { by: 'key', id }
}

/** Two that are the same have the same text. */
function textOf(rights: StreamRights): string {
  return 'role' in rights ? rights.role : JSON.stringify(rights.permissions)
}

function nameOf({ by, id, projectId }: StreamGrant): string {
  return `${by}/${id}/${projectId}`
}

function distinct(grants: readonly StreamGrant[]): StreamGrant[] {
  return [...new Map(grants.map((grant) => [nameOf(grant), grant])).values()]
}
