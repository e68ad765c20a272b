import type { ConsumerInfo, JetStreamManager } from '@nats-io/jetstream'

import type { Clock } from '../../../core/clock.ts'
import type { Hold } from '../../../core/db/deliveries/work/partition-owners.ts'
import { unpackDeliveries, type DeliveryMessage } from '../../../core/jetstream/delivery-message.ts'
import { DeliveryPull, type StreamMessage } from '../../../core/jetstream/delivery-pull.ts'
import { ensureDeliveryConsumer } from '../../../core/jetstream/delivery-stream.ts'
import { LEASE_MS, WORK_MAX } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import type { ByteBudget, Share } from '../in-flight/byte-budget.ts'
import type { InFlight } from '../in-flight/in-flight.ts'
import { MessageAck } from '../in-flight/message-ack.ts'
import { workOfMessage } from '../in-flight/work.ts'
import type { Lanes } from '../lanes/lanes.ts'
import type { Holdings } from '../own/holdings.ts'
import type { Results } from '../record/results.ts'

/** Messages asked for ahead over all partitions, and the least for one. */
const PULL_AHEAD = 1_024
const PULL_AHEAD_MIN = 16

/** Claims of one partition under way past which none of its messages is taken: PostgreSQL answers these first. */
const CLAIMING_MAX = 512

/** After one that failed no consumer is made for this long: the others fail as it did. */
const RESTORE_REST_MS = 2_000

/** With less of the lease left than this, the row is claimed before the attempt: the sweeper may be near. */
const LEASE_REST_MS = 7_000

/** The clocks of ingest, which dates messages, and of a worker may differ by this much. */
const CLOCKS_MS = 1_000

interface Lease {
  untilMs: number
  isOrphan: boolean
}

export interface ConsumeDeps {
  nats: NatsConnection
  manager: JetStreamManager
  clock: Clock
  log: Logger
  results: Results
  /** The memory that messages share with claimed rows. */
  memory: ByteBudget
  inFlight: InFlight
  lanes: Pick<Lanes, 'inMemory' | 'hasRoom' | 'admit'>
  holdings: Pick<Holdings, 'takenHoldOf'>
}

/** Takes deliveries from the stream, for the partitions that this worker owns. */
export class StreamConsumer {
  readonly #deps: ConsumeDeps
  readonly #pulls = new Map<number, DeliveryPull>()
  readonly #stopping = new Map<number, Promise<unknown>>()
  /** Each partition's consumer as it was last met, and since when it has been, on the monotonic clock. */
  readonly #met = new Map<number, { created: string; since: number }>()
  /** Claims under way, by partition. */
  readonly #claiming = new Map<number, Set<Promise<void>>>()
  /** On the monotonic clock: until when no consumer is made. */
  #restsUntil = -Infinity
  #ahead = PULL_AHEAD

  constructor(deps: ConsumeDeps) {
    this.#deps = deps
  }

  /** To be called now and then: takes from these partitions and from no others. */
  async look(holds: readonly Hold[]): Promise<void> {
    const owned = new Set(holds.map(({ partition }) => partition))
    const former = [...this.#pulls.keys()].filter((partition) => !owned.has(partition))
    if (former.length > 0) await this.stop(former)
    this.#ahead = Math.max(PULL_AHEAD_MIN, Math.floor(PULL_AHEAD / Math.max(1, owned.size)))
    for (const partition of owned) {
      const pull = this.#pulls.get(partition)
      if (pull !== undefined) pull.look()
      else if (!this.#isResting()) this.#pulls.set(partition, this.#open(partition))
    }
  }

  /** More may be taken of the partition than a moment ago. */
  madeRoom(partition: number): void {
    this.#pulls.get(partition)?.look()
  }

  /** Resolves when nothing more of them can come. */
  async stop(partitions: Iterable<number>): Promise<void> {
    const stopping: unknown[] = []
    for (const partition of partitions) {
      const pull = this.#pulls.get(partition)
      if (pull !== undefined) this.#close(partition, pull)
      stopping.push(this.#stopping.get(partition))
    }
    await Promise.all(stopping)
    await Promise.all([...this.#claiming.values()].flatMap((claims) => [...claims]))
  }

  async stopAll(): Promise<void> {
    await this.stop([...this.#pulls.keys()])
  }

  #close(partition: number, pull: DeliveryPull): void {
    this.#pulls.delete(partition)
    const stopping = pull
      .stop()
      .catch((err: unknown) => this.#deps.log.warn({ err, partition }, 'Cannot end a pull'))
      .finally(() => {
        if (this.#stopping.get(partition) === stopping) this.#stopping.delete(partition)
      })
    this.#stopping.set(partition, stopping)
  }

  #open(partition: number): DeliveryPull {
    const pull: DeliveryPull = new DeliveryPull({
      nats: this.#deps.nats,
      partition,
      ahead: () => this.#ahead,
      mayAsk: () => this.#hasRoom(partition),
      take: (message) => this.#take(message, partition, pull.knownMs),
      onMissing: () => void this.#restore(partition),
    })
    return pull
  }

  #hasRoom(partition: number): boolean {
    const { memory, results, lanes } = this.#deps
    const claiming = this.#claiming.get(partition)?.size ?? 0
    return (
      memory.hasRoom &&
      claiming < CLAIMING_MAX &&
      lanes.inMemory + results.backlog() <= WORK_MAX &&
      lanes.hasRoom(partition)
    )
  }

  /** The server may have come back without its store. */
  async #restore(partition: number): Promise<void> {
    const { manager, log } = this.#deps
    // Missed while it is taken from: the server may have lost what it knew of it.
    if (this.#pulls.has(partition)) this.#met.delete(partition)
    try {
      const consumer = await ensureDeliveryConsumer(manager, partition)
      this.#pulls.get(partition)?.resume(this.#metSince(partition, consumer))
    } catch (err) {
      if (!this.#isResting()) log.warn({ err, partition }, 'Cannot make a consumer')
      this.#restsUntil = performance.now() + RESTORE_REST_MS
      // A later look opens it again.
      await this.stop([partition])
    }
  }

  /**
   * A worker that regains a partition (after a PostgreSQL outage or a pause) finds its old consumer. Nobody can have
   * finished a delivery that this consumer gives for the first time, so it need not be claimed, which would cost a seventh
   * of the throughput. In a cluster it must be: another server that knows less may have taken over unseen.
   */
  #metSince(partition: number, { created, cluster }: ConsumerInfo): number {
    const met = this.#met.get(partition)
    if (met?.created === created && cluster === undefined) return met.since
    const since = performance.now()
    this.#met.set(partition, { created, since })
    return since
  }

  #isResting(): boolean {
    return performance.now() < this.#restsUntil
  }

  #take(message: StreamMessage, partition: number, knownMs: number): void {
    const hold = this.#deps.holdings.takenHoldOf(partition)
    if (hold === undefined) {
      message.nak()
      return
    }
    const deliveries = unpack(this.#deps, message)
    if (deliveries === undefined) return
    const answers = new MessageAck(message, deliveries.length)
    const bytes = Math.ceil(message.data.length / deliveries.length)
    const { redelivered } = message
    for (const decoded of deliveries) {
      this.#takeOne({ message: answers, redelivered, knownMs, bytes, decoded, hold })
    }
  }

  /**
   * A killed server has forgotten its deliveries and the acks of its last moments, and a new consumer knows none. A
   * message that comes again then does not look redelivered: deliveries in flight are skipped, others that may be finished
   * are claimed first.
   */
  #takeOne(came: ReceivedDelivery): void {
    const { clock, memory, inFlight } = this.#deps
    const { delivery } = came.decoded
    if (!came.redelivered && inFlight.renew(delivery.id, came.message)) return
    const leaseRestMs = delivery.leaseUntilMs - clock.now()
    const maybeFinished = LEASE_MS - leaseRestMs > came.knownMs - CLOCKS_MS
    const mustClaim = came.redelivered || leaseRestMs < LEASE_REST_MS || maybeFinished
    const taken = { ...came, room: memory.reserve(came.bytes) }
    if (!mustClaim) this.#admit(taken, published(came.decoded))
    else this.#track(came.hold.partition, this.#claim(taken))
  }

  #track(partition: number, claim: Promise<void>): void {
    const claims = this.#claiming.get(partition) ?? new Set()
    this.#claiming.set(partition, claims.add(claim))
    void claim.finally(() => {
      claims.delete(claim)
      if (claims.size === CLAIMING_MAX - 1) this.madeRoom(partition)
    })
  }

  #admit(taken: AdmittedDelivery, { untilMs, isOrphan }: Lease): void {
    this.#deps.lanes.admit(
      workOfMessage(taken.decoded, { untilMs, isOrphan, hold: taken.hold }, taken),
    )
  }

  /** The slow way in. */
  async #claim(taken: AdmittedDelivery): Promise<void> {
    const { message, decoded, hold, room } = taken
    const { event, delivery } = decoded
    try {
      const claimed = await this.#deps.results.claim({
        retentionClass: event.class,
        deliveryId: delivery.id,
        leaseUntilMs: delivery.leaseUntilMs,
        hold,
      })
      if (claimed.isOurs) {
        this.#admit(taken, claimed)
      } else {
        message.ack()
        room.give()
      }
    } catch (err) {
      // Not acknowledged: the stream sends it again, or the sweeper finds the row.
      this.#deps.log.warn({ err, deliveryId: delivery.id }, 'Cannot claim a delivery')
      room.give()
    }
  }
}

/** A delivery that a message brought. */
interface ReceivedDelivery {
  message: MessageAck
  redelivered: boolean
  /** Only what is younger cannot have been finished before. */
  knownMs: number
  /** Its part of the message's bytes. */
  bytes: number
  decoded: DeliveryMessage
  hold: Hold
}

type AdmittedDelivery = ReceivedDelivery & { room: Share }

/** A message names the lease that it was published under. */
function published({ delivery }: DeliveryMessage): Lease {
  return { untilMs: delivery.leaseUntilMs, isOrphan: false }
}

function unpack({ log }: ConsumeDeps, message: StreamMessage): DeliveryMessage[] | undefined {
  try {
    return unpackDeliveries(message.data)
  } catch (err) {
    log.error({ err, subject: message.subject }, 'Dropped an unreadable message')
    message.term()
    return undefined
  }
}
