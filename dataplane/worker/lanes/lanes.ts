import { isDatabaseAway } from '../../../core/db/connection/failures.ts'
import { encodeId } from '../../../core/ids.ts'
import type { Withdrawal } from '../../../core/notices/withdrawals.ts'
import type { Work } from '../in-flight/work.ts'
import type { Destination } from '../send/destination.ts'
import type { LaneKey } from './backlog.ts'
import type { Destinations } from './destinations.ts'
import type { LaneDeps } from './lane-deps.ts'
import { Lane } from './lane.ts'

const TICK_MS = 1_000

/** Destinations that one statement reads for their lanes, some 10 ms of this process. */
const READ_PAGE = 50

export interface LanesDeps extends Omit<LaneDeps, 'madeRoom'> {
  destinations: Destinations
}

/** The lanes of the partitions that this worker owns, made when work comes and dropped when they are idle. */
export class Lanes {
  readonly #deps: LanesDeps & LaneDeps
  readonly #lanes = new Map<string, Promise<Lane>>()
  readonly #open = new Map<string, Lane>()
  readonly #ticker: NodeJS.Timeout
  readonly #arriving = new Set<Work>()
  readonly #changedOrganisations = new Set<string>()
  /** Lanes that paused the pull of their partition when work last came. */
  readonly #filled = new Set<Lane>()
  #onRoom: LaneDeps['madeRoom'] = () => undefined

  constructor(deps: LanesDeps) {
    this.#deps = { ...deps, madeRoom: (partition) => this.#onRoom(partition) }
    this.#ticker = setInterval(() => this.#tick(), TICK_MS)
  }

  /** Work in memory, on its way into a lane or in one. */
  get inMemory(): number {
    let count = this.#arriving.size
    for (const lane of this.#open.values()) count += lane.inMemory
    return count
  }

  admit(work: Work): void {
    const lane = this.#open.get(work.destinationId)
    if (lane !== undefined) {
      this.#admitTo(lane, work)
      return
    }
    this.#arriving.add(work)
    this.#laneOf(work)
      .then((opened) => this.#admitTo(opened, work))
      .catch((err: unknown) => {
        // Not settled: the stream sends it again, or its row becomes due.
        this.#deps.log.warn({ err }, 'Cannot open a lane')
        this.#deps.inFlight.abandon(work)
      })
      .finally(() => this.#arriving.delete(work))
  }

  /** Calls `listener` when a lane that paused the pull of its partition has room again. */
  onRoom(listener: LaneDeps['madeRoom']): void {
    this.#onRoom = listener
  }

  /** No lane of the partition pauses its pull. */
  hasRoom(partition: number): boolean {
    for (const lane of this.#filled) {
      if (!lane.pausesPull) this.#filled.delete(lane)
      else if (lane.partition === partition) return false
    }
    return true
  }

  /** PostgreSQL holds rows for these lanes, each in the partition that is named. */
  async noteParked(keys: readonly LaneKey[]): Promise<void> {
    for (let from = 0; from < keys.length; from += READ_PAGE) {
      const page = keys.slice(from, from + READ_PAGE)
      const closed = page.map((key) => key.destinationId).filter((id) => !this.#lanes.has(id))
      this.#deps.destinations.load(closed)
      for (const key of page) {
        await this.#tell(key.destinationId, async () => {
          const lane = await this.#laneOf(key)
          lane.noteParked(key.partition)
        })
      }
    }
  }

  /** Settings of the destination may have changed: its lane, if there is one, gets the present ones. */
  async refresh(destinationId: string): Promise<void> {
    this.#deps.destinations.forget(destinationId)
    await this.#configure(destinationId)
  }

  /**
   * The plan of an organisation may have changed. Its lanes get the present settings from the next `refreshOrganisations`:
   * reading thousands takes a second, for which a change of one destination must not wait.
   */
  noteOrganisation(organisationId: string): void {
    this.#changedOrganisations.add(organisationId)
  }

  /** Gives the lanes of changed organisations their present settings, a page at a time. When it fails, call it again. */
  async refreshOrganisations(): Promise<void> {
    const changed = new Set(this.#changedOrganisations)
    if (changed.size === 0) return
    this.#deps.destinations.forgetOrganisations(changed)
    // A lane that is being opened may have read the old plan.
    const concerned = [...this.#lanes.keys()].filter((id) => {
      const organisationId = this.#open.get(id)?.organisationId
      return organisationId === undefined || changed.has(organisationId)
    })
    this.#changedOrganisations.clear()
    try {
      for (let from = 0; from < concerned.length; from += READ_PAGE) {
        const page = concerned.slice(from, from + READ_PAGE)
        this.#deps.destinations.load(page)
        await Promise.all(page.map((id) => this.#configure(id)))
      }
    } catch (error) {
      for (const id of changed) this.#changedOrganisations.add(id)
      throw error
    }
  }

  /** Drops withdrawn deliveries from the lanes. */
  dropWithdrawn({ deliveries, deleted }: Withdrawal): void {
    const concerned =
      deleted.length > 0
        ? this.#open.keys()
        : new Set(deliveries.map(({ destinationId }) => destinationId))
    for (const destinationId of concerned) this.#open.get(destinationId)?.dropWithdrawn()
  }

  /** Lanes that are cut off from this connector try again. */
  noteOnline(connectorId: string): void {
    for (const lane of this.#open.values()) lane.noteOnline(connectorId)
  }

  /** Parks all that has not been sent to destinations of these partitions. */
  handOver(partitions: ReadonlySet<number>): void {
    for (const lane of this.#lanesIn(partitions)) lane.handOver()
  }

  /** Nothing of these partitions is in memory, save attempts under way. */
  areEmpty(partitions: ReadonlySet<number>): boolean {
    const isArriving = [...this.#arriving].some(({ hold }) => partitions.has(hold.partition))
    return !isArriving && this.#lanesIn(partitions).every((lane) => lane.isEmpty)
  }

  /** Another has them, or will: what these lanes know is not true any more. */
  close(partitions: ReadonlySet<number>): void {
    for (const [destinationId, lane] of this.#open) {
      if (partitions.has(lane.partition)) this.#drop(destinationId, lane)
    }
    this.#deps.destinations.forgetAll()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#ticker)
    for (const lane of this.#open.values()) lane[Symbol.dispose]()
  }

  /**
   * A destination whose settings cannot be read must not keep from the others what they are to be told. Throws while
   * PostgreSQL is away: then none of them can be read.
   */
  async #tell(id: string, tell: () => Promise<void>): Promise<void> {
    try {
      await tell()
    } catch (err) {
      if (isDatabaseAway(err)) throw err
      const destinationId = encodeId('dst', id)
      this.#deps.log.warn({ err, destinationId }, 'Cannot read a destination')
    }
  }

  /** Gives a lane the present settings of its destination. */
  async #configure(destinationId: string): Promise<void> {
    await this.#tell(destinationId, async () => {
      // A lane that is being opened may have read the old destination.
      const lane = await this.#lanes.get(destinationId)
      if (lane !== undefined) lane.configure(await this.#latest(destinationId))
    })
  }

  /** The destination as the last read found it: an earlier read may end after a later one. */
  async #latest(destinationId: string): Promise<Destination | undefined> {
    const { destinations } = this.#deps
    for (;;) {
      const reading = destinations.get(destinationId)
      const destination = await reading
      if (!destinations.hasOther(destinationId, reading)) return destination
    }
  }

  #admitTo(lane: Lane, work: Work): void {
    lane.admit(work)
    if (lane.pausesPull) this.#filled.add(lane)
  }

  #lanesIn(partitions: ReadonlySet<number>): Lane[] {
    return [...this.#open.values()].filter((lane) => partitions.has(lane.partition))
  }

  #laneOf({ destinationId, partition }: LaneKey): Promise<Lane> {
    const known = this.#lanes.get(destinationId)
    if (known !== undefined) return known
    const opening = this.#deps.destinations.get(destinationId).then((destination) => {
      const lane = new Lane(this.#deps, { destinationId, partition }, destination)
      this.#open.set(destinationId, lane)
      // The next lane must not begin with a window that this one has ended.
      if (destination?.busy) this.#deps.destinations.forget(destinationId)
      return lane
    })
    this.#lanes.set(destinationId, opening)
    opening.catch(() => this.#lanes.delete(destinationId))
    return opening
  }

  #tick(): void {
    for (const [destinationId, lane] of this.#open) {
      lane.tick()
      if (lane.isIdle) this.#drop(destinationId, lane)
    }
  }

  #drop(destinationId: string, lane: Lane): void {
    lane[Symbol.dispose]()
    this.#filled.delete(lane)
    this.#open.delete(destinationId)
    this.#lanes.delete(destinationId)
  }
}
