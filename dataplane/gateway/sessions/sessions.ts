import type { GatewayStreams } from '../streams/streams.ts'
import type { Session, SessionOwner } from './session.ts'

/** As much of a session as is needed to choose one. */
export interface Choosable {
  owner: SessionOwner
  streams: GatewayStreams
}

/** The live sessions of this gateway. `online` and `offline` tell when a connector gets its first and loses its last. */
export class Sessions<S extends Choosable = Session> {
  readonly #byConnector = new Map<string, Set<S>>()
  readonly #byReplica = new Map<string, Set<S>>()
  readonly #byOrganisation = new Map<string, Set<S>>()
  readonly #random: () => number
  #count = 0

  constructor(random: () => number) {
    this.#random = random
  }

  get count(): number {
    return this.#count
  }

  countOf(organisationId: string): number {
    return this.#byOrganisation.get(organisationId)?.size ?? 0
  }

  all(): S[] {
    return [...this.#byConnector.values()].flatMap((sessions) => [...sessions])
  }

  connectors(): string[] {
    return [...this.#byConnector.keys()]
  }

  of(connectorId: string): ReadonlySet<S> {
    return this.#byConnector.get(connectorId) ?? new Set()
  }

  ofReplica(replicaId: string): S[] {
    return [...(this.#byReplica.get(replicaId) ?? [])]
  }

  /** Whether a session of the connector takes requests, now or when it has room. */
  isOnline(connectorId: string): boolean {
    for (const { streams } of this.of(connectorId)) if (streams.isAccepting) return true
    return false
  }

  add(session: S): void {
    const { connectorId, replicaId, organisationId } = session.owner
    addTo(this.#byConnector, connectorId, session)
    addTo(this.#byReplica, replicaId, session)
    addTo(this.#byOrganisation, organisationId, session)
    this.#count++
  }

  remove(session: S): void {
    const { connectorId, replicaId, organisationId } = session.owner
    if (!removeFrom(this.#byConnector, connectorId, session)) return
    removeFrom(this.#byReplica, replicaId, session)
    removeFrom(this.#byOrganisation, organisationId, session)
    this.#count--
  }

  /** Picks two random sessions with room and returns the one with fewer requests in flight. Undefined when none has room. */
  pick(connectorId: string): S | undefined {
    const open = [...this.of(connectorId)].filter(({ streams }) => streams.hasRoom)
    if (open.length < 2) return open[0]
    const first = Math.floor(this.#random() * open.length)
    const step = 1 + Math.floor(this.#random() * (open.length - 1))
    const [a, b] = [open[first], open[(first + step) % open.length]]
    if (a === undefined || b === undefined) return a ?? b
    return b.streams.inFlight < a.streams.inFlight ? b : a
  }
}

function addTo<S>(sets: Map<string, Set<S>>, key: string, session: S): void {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set.add(session))
}

function removeFrom<S>(sets: Map<string, Set<S>>, key: string, session: S): boolean {
  const set = sets.get(key)
  if (set?.delete(session) !== true) return false
  if (set.size === 0) sets.delete(key)
  return true
}
