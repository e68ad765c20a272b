import type { Logger } from '../core/log.ts'
import { whyUnusable } from '../core/settings/setting-files.ts'
import type { LinkEnd } from '../core/tunnel/link.ts'
import { CLOSE, TUNNEL_PATH } from '../core/tunnel/protocol.ts'
import {
  type Ended,
  hashOfKey,
  type Identity,
  type IdentityFile,
  type Loss,
  lossOf,
} from './relay/identity.ts'
import type { Reach } from './relay/proxy.ts'
import { codeOf, NO_KEY, type Relay, type RelayAnswer } from './relay/relay.ts'
import { whyEnded, whyNotConnected, whyNotEnrolled, whyUnreachable } from './requests/explain.ts'
import type { Metrics } from './telling/metrics.ts'
import { Telling } from './telling/telling.ts'
import { backoffMs, waitMs } from './tunnel/backoff.ts'
import { dial } from './tunnel/dial.ts'
import { Nudge } from './tunnel/nudge.ts'
import { Session } from './tunnel/session.ts'
import type { Perform } from './tunnel/streams.ts'
import { type Refused, Tunnels } from './tunnel/tunnels.ts'

interface ConnectorDeps {
  relayUrl: string
  relay: Relay
  reach: Reach
  file: IdentityFile
  /** The enrolment key as it is now. */
  readKey: () => string | undefined
  instanceName: string
  version: string
  startedAt: Date
  perform: Perform
  narrow: (allowedHosts: readonly string[]) => void
  metrics: Metrics
  log: Logger
  random: () => number
}

/** A heartbeat whose token is not known is tried again this often, before the agent enrols anew. */
const UNKNOWN_MAX = 3
/** A replica may send one a second. */
const HEARTBEAT_MS_MIN = 1_200
/** A key that was made anew takes so long to reach every machine. */
const KEY_PATIENCE_MS = 3 * 60_000
/** Whoever makes a deleted connector anew puts its key where the old one was: it is looked for this often. */
const KEY_LOOK_MS = 10_000
/** Enrolments that follow one another within this time wait longer each time. */
const ENROLMENTS_WINDOW_MS = 10 * 60_000
const REVOKED = 'CONNECTOR_REPLICA_REVOKED'

/** An agent: who it is to its relay, and the sessions that follow from it. */
export class Connector {
  readonly #deps: ConnectorDeps
  readonly #tunnels: Tunnels
  readonly #nudge = new Nudge()
  readonly #tell: Telling
  #identity: Identity | undefined
  #ended: Ended | undefined
  #intervalMs = 0
  #isDisabled = false
  #isStopping = false
  #loss: Loss | undefined
  #heardAt: number | undefined
  #enrolments: number[] = []

  constructor(deps: ConnectorDeps) {
    this.#deps = deps
    this.#tell = new Telling(deps.log)
    this.#tunnels = new Tunnels({
      dial: async (gateways) => await this.#dial(gateways),
      opened: (session) => this.#opened(session),
      ended: (session, end) => this.#closed(session, end),
      refused: (refused) => this.#refused(refused),
      failed: (error) => this.#unreachable(error),
      random: deps.random,
    })
  }

  get sessions(): number {
    return this.#tunnels.open.length
  }

  get inFlight(): number {
    return this.#tunnels.inFlight
  }

  /** The relay has ended this agent: it does nothing more until it has another key. */
  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  get heartbeatAgeSeconds(): number | undefined {
    return this.#heardAt === undefined ? undefined : (performance.now() - this.#heardAt) / 1_000
  }

  /** Throws what keeps requests from reaching this agent. */
  checkReady(): void {
    if (this.#isStopping) throw new Error('Ending')
    if (this.#ended !== undefined)
      throw new Error(whyEnded(this.#ended.ended, this.#deps.file.path))
    if (this.sessions > 0) return
    throw new Error(
      this.#isDisabled ? 'The connector is disabled' : (this.#tell.last ?? 'Connecting'),
    )
  }

  /** Until `stop()`. */
  async run(): Promise<void> {
    const tunnels = this.#tunnels.run()
    this.#takeUp()
    while (!this.#isStopping) {
      if (this.#ended !== undefined) await this.#lookForKey(this.#ended)
      else if (this.#identity === undefined) await this.#enrol()
      else {
        const { keyHash } = this.#identity
        this.#lose(await this.#beat(this.#identity), keyHash)
      }
    }
    await tunnels
  }

  /** A replica that was revoked stays so: who did it wants this agent away, whatever key there is. */
  async #lookForKey({ ended, keyHash }: Ended): Promise<void> {
    await this.#nudge.wait(KEY_LOOK_MS)
    if (ended !== 'connector_deleted' || this.#isStopping) return
    const key = this.#deps.readKey()
    if (key === undefined || hashOfKey(key) === keyHash) return
    this.#ended = undefined
    this.#deps.log.info('There is another enrolment key: enrolling anew')
  }

  /** Takes no more requests and ends when those in flight are answered, `withinMs` at most. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true
    this.#tunnels.hold(true)
    await this.#tunnels.drain('The agent ends', withinMs)
    this.#tunnels.stop()
    this.#nudge.now()
  }

  /** Goes on as the agent that an earlier run was, when the disk has it. */
  #takeUp(): void {
    const { file, relayUrl, instanceName, readKey, log } = this.#deps
    const kept = file.read()
    const key = readKey()
    const isOther = key !== undefined && kept?.keyHash !== hashOfKey(key)
    if (kept === undefined || kept.relay !== relayUrl || isOther) return
    if ('ended' in kept) {
      this.#ended = kept
      log.error(whyEnded(kept.ended, file.path))
    } else if (kept.instanceName === instanceName) {
      this.#intervalMs = 0
      this.#become(kept)
    }
  }

  #become(identity: Identity): void {
    this.#identity = identity
    this.#loss = undefined
    this.#isDisabled = false
    this.#deps.narrow(identity.allowedHosts)
    this.#tunnels.hold(false)
  }

  /** Tries until there is an identity. */
  async #enrol(): Promise<void> {
    const { relay, relayUrl, instanceName, version, startedAt, readKey, random } = this.#deps
    await this.#paceEnrolments()
    let refusedSince: number | undefined
    for (let failures = 0; !this.#isStopping; failures++) {
      const key = readKey()
      const facts = { instanceName, version, startedAt: startedAt.toISOString() }
      const answer = key === undefined ? NO_KEY : await relay.bootstrap(key, facts)
      if (this.#isStopping) return
      if (answer.kind === 'ok') {
        const { heartbeatToken, heartbeatIntervalSeconds, ...rest } = answer.value
        const identity = {
          ...rest,
          relay: relayUrl,
          instanceName,
          keyHash: hashOfKey(key),
          token: heartbeatToken,
        }
        this.#keep(identity)
        this.#intervalMs = heartbeatIntervalSeconds * 1_000
        this.#heardAt = performance.now()
        this.#tell.clear()
        this.#deps.log.info(
          { connectorId: rest.connectorId, replicaId: rest.replicaId },
          `Enrolled as replica ${rest.replicaId} of connector ${rest.connectorId}`,
        )
        return this.#become(identity)
      }
      if (answer.kind === 'refused' && answer.reason === 'connector_deleted')
        return this.#lose('connector_deleted', hashOfKey(key))
      refusedSince = this.#tellRefusal(answer, refusedSince)
      const retryAfter = answer.kind === 'refused' ? answer.retryAfterMs : undefined
      await this.#nudge.wait(waitMs(failures, retryAfter, random))
    }
  }

  /** Says what is wrong once; of a key that stays unknown, once more when it has had its time. */
  #tellRefusal(
    answer: Exclude<RelayAnswer<never>, { kind: 'ok' }>,
    since: number | undefined,
  ): number | undefined {
    const { relayUrl, instanceName } = this.#deps
    if (answer.kind === 'failed') {
      this.#tell.warn(`Cannot enrol: ${whyUnreachable(answer.error, new URL(relayUrl))}`)
      return undefined
    }
    if (answer.status === 429 || answer.status === 503) {
      this.#tell.warn(
        `Cannot enrol yet: the relay at ${relayUrl} is busy (${answer.status}); trying again`,
      )
      return since
    }
    const line = `Cannot enrol: ${whyNotEnrolled(answer, relayUrl, instanceName)}`
    const firstAt = answer.status === 401 ? (since ?? performance.now()) : undefined
    if (firstAt !== undefined && performance.now() - firstAt > KEY_PATIENCE_MS)
      this.#tell.error(line)
    else this.#tell.warn(line)
    return firstAt
  }

  async #paceEnrolments(): Promise<void> {
    const now = performance.now()
    this.#enrolments = this.#enrolments.filter((at) => now - at < ENROLMENTS_WINDOW_MS)
    const before = this.#enrolments.length
    if (before > 0) await this.#nudge.wait(HEARTBEAT_MS_MIN + backoffMs(before, this.#deps.random))
    this.#enrolments.push(performance.now())
  }

  /** Heartbeats for as long as the relay knows the identity. */
  async #beat(identity: Identity): Promise<Loss | undefined> {
    let unknown = 0
    let failures = 0
    let waitFor = this.#intervalMs
    while (!this.#isStopping) {
      if (this.#loss === undefined && waitFor > 0) await this.#nudge.wait(waitFor)
      if (this.#isStopping) return undefined
      if (this.#loss !== undefined) return this.#loss
      const sentAt = performance.now()
      const answer = await this.#heartbeat(this.#identity ?? identity)
      const base = HEARTBEAT_MS_MIN - Math.min(performance.now() - sentAt, HEARTBEAT_MS_MIN)
      if (answer.kind === 'ok') {
        unknown = 0
        failures = 0
        waitFor = Math.max(this.#intervalMs * (0.9 + this.#deps.random() * 0.1), HEARTBEAT_MS_MIN)
        continue
      }
      const status = answer.kind === 'refused' ? answer.status : 0
      if (answer.kind === 'refused' && answer.code === REVOKED)
        return lossOf(answer.reason) ?? 'unknown'
      if (status === 401 && ++unknown > UNKNOWN_MAX) return 'unknown'
      const retryAfter = answer.kind === 'refused' ? answer.retryAfterMs : undefined
      waitFor = base + waitMs(failures++, retryAfter, this.#deps.random)
      if (answer.kind === 'failed')
        this.#tell.warn(
          `Cannot send a heartbeat: ${whyUnreachable(answer.error, new URL(this.#deps.relayUrl))}`,
        )
      else if (status !== 429 && status !== 401)
        this.#tell.warn(
          `The relay refused a heartbeat: ${answer.message || 'no reason'} (${status} ${answer.code})`,
        )
    }
    return undefined
  }

  async #heartbeat(identity: Identity): ReturnType<Relay['heartbeat']> {
    const { relay, startedAt, metrics, narrow } = this.#deps
    const answer = await relay.heartbeat(identity.token, {
      inFlight: this.inFlight,
      sessions: this.sessions,
      uptimeSeconds: Math.floor((Date.now() - startedAt.getTime()) / 1_000),
    })
    metrics.heartbeat(codeOf(answer))
    if (answer.kind !== 'ok' || this.#loss !== undefined) return answer
    const { heartbeatIntervalSeconds, gatewayUrl, allowedHosts, isDisabled, nextToken } =
      answer.value
    this.#heardAt = performance.now()
    this.#intervalMs = heartbeatIntervalSeconds * 1_000
    narrow(allowedHosts)
    const next = { ...identity, gatewayUrl, allowedHosts, token: nextToken ?? identity.token }
    // On disk before it is used: with its first use the old one ends.
    if (JSON.stringify(next) !== JSON.stringify(identity)) this.#keep(next)
    this.#identity = next
    if (isDisabled !== this.#isDisabled) {
      this.#isDisabled = isDisabled
      this.#deps.log.info(
        isDisabled
          ? 'The connector is disabled: waiting until it is enabled'
          : 'The connector is enabled',
      )
      this.#tunnels.hold(isDisabled)
    }
    return answer
  }

  /** An agent that cannot write goes on with what it has in memory. */
  #keep(identity: Identity | Ended): void {
    try {
      this.#deps.file.write(identity)
    } catch (error) {
      this.#tell.error(`Cannot write ${this.#deps.file.path}: ${whyUnusable(error)}`)
    }
  }

  #lose(loss: Loss | undefined, keyHash: string): void {
    if (loss === undefined || this.#isStopping) return
    const { file, log } = this.#deps
    this.#identity = undefined
    this.#tunnels.hold(true)
    this.#tunnels.close(loss)
    if (loss === 'connector_deleted' || loss === 'replica_revoked') {
      this.#ended = { relay: this.#deps.relayUrl, keyHash, ended: loss }
      this.#keep(this.#ended)
      log.error(whyEnded(loss, file.path))
      return
    }
    file.remove()
    log.warn('The relay does not know this replica any more: enrolling again')
  }

  async #dial(gateways: readonly string[]) {
    const { reach, perform, version, narrow, metrics, log } = this.#deps
    let session: Session | undefined
    const { gatewayUrl = '', token = '', replicaId } = this.#identity ?? {}
    const url = URL.parse(TUNNEL_PATH, gatewayUrl)
    if (url === null) {
      const error = new Error(`the relay names "${gatewayUrl}" as its gateway, which is no address`)
      return { dialled: { kind: 'failed' as const, error }, session }
    }
    const target = { url: url.href, token, gateways, agent: reach(url) }
    const dialled = await dial(target, (wire) => {
      session = new Session(wire, {
        perform,
        version,
        narrowed: narrow,
        received: (bytes) => metrics.received(bytes),
      })
      void session.ended.then(({ code, reason }) => {
        if (code === CLOSE.REVOKED) this.#hearLoss(reason, replicaId)
        return undefined
      })
    })
    if (dialled.kind === 'refused' && dialled.code === REVOKED)
      this.#hearLoss(dialled.reason, replicaId)
    metrics.connected(dialled.kind === 'refused' ? `refused_${dialled.status}` : dialled.kind)
    log.debug({ url: url.href, result: dialled.kind }, 'Dialled a gateway')
    return { dialled, session }
  }

  /** A gateway speaks of the replica that dialled it, which this agent may be no more. */
  #hearLoss(reason: string | undefined, replicaId: string | undefined): void {
    const loss = lossOf(reason)
    if (loss === undefined || replicaId !== this.#identity?.replicaId) return
    this.#loss ??= loss
    this.#nudge.now()
  }

  #opened(session: Session): void {
    this.#tell.clear()
    const { log } = this.#deps
    log.info(
      { sessions: this.sessions },
      `Connected to gateway ${session.gateway || 'without a name'}`,
    )
  }

  #closed(session: Session, end: LinkEnd): void {
    // The relay says what became of this replica, or of its connector.
    if (end.code === CLOSE.REVOKED || end.code === CLOSE.DISABLED) this.#nudge.now()
    if (this.#isStopping) return
    this.#deps.log.info(
      { code: end.code, sessions: this.sessions },
      `The session to gateway ${session.gateway} ended: ${end.reason || `code ${end.code}`}`,
    )
  }

  #refused(refused: Refused): void {
    if (refused.status === 409) return
    if (refused.status === 401) this.#nudge.now()
    this.#tell.warn(whyNotConnected(refused, this.#identity?.gatewayUrl ?? ''))
  }

  #unreachable(error: Error): void {
    const url = URL.parse(this.#identity?.gatewayUrl ?? '')
    if (url === null) this.#tell.warn(`Cannot connect: ${error.message}`)
    else this.#tell.warn(`Cannot connect to the gateway: ${whyUnreachable(error, url)}`)
  }
}
