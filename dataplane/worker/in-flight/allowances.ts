import {
  CLAIM_BYTES_MAX,
  MESSAGE_BODY_BYTES_MAX,
  WORK_BYTES_MAX,
  WORK_MAX,
} from '../../../core/limits.ts'

/** A claim of fewer rows than this is not worth its cost to a lane that has some. */
const CLAIM_ROWS_MIN = 16

/** The bytes of a claimed row at most: a body that travels in messages, and headers. */
const ROW_BYTES_MAX = MESSAGE_BODY_BYTES_MAX + 16_384

interface Used {
  bytes: number
  deliveries: number
  /** Attempts under way. */
  sockets: number
}

type Kind = keyof Used

interface Organisation extends Used {
  /** Lanes that may add to it. */
  lanes: number
}

/**
 * The memory and sockets of a worker, divided among organisations and their destinations. A lane whose attempts hang may
 * use as much as its organisation leaves free, and the organisation as much as all others leave free: a lane that is alone
 * gets a third, and the next organisation always finds some. A lane with nothing in flight may begin until its organisation
 * uses three times what is free.
 */
export class Allowances {
  readonly #max: Used
  readonly #all = nothing()
  readonly #organisations = new Map<string, Organisation>()

  constructor(socketsMax: number) {
    this.#max = { bytes: WORK_BYTES_MAX, deliveries: WORK_MAX, sockets: socketsMax }
  }

  /** For one lane. */
  open(organisationId: string): Allowance {
    const organisation = this.#organisations.get(organisationId) ?? { ...nothing(), lanes: 0 }
    this.#organisations.set(organisationId, organisation)
    organisation.lanes++
    return new Allowance(this.#max, [nothing(), organisation, this.#all], () => {
      if (--organisation.lanes === 0) this.#organisations.delete(organisationId)
    })
  }
}

/** The allowance of a lane. */
export class Allowance implements Disposable {
  readonly #max: Used
  readonly #own: Used
  readonly #organisation: Used
  readonly #all: Used
  readonly #closed: () => void
  #isClosed = false

  constructor(
    max: Used,
    [own, organisation, all]: [own: Used, organisation: Used, all: Used],
    closed: () => void,
  ) {
    this.#max = max
    this.#own = own
    this.#organisation = organisation
    this.#all = all
    this.#closed = closed
  }

  /** Deliveries of so many bytes come into memory; with negative numbers they leave it. */
  add(bytes: number, deliveries: number): void {
    addTo(this.#own, bytes, deliveries)
    addTo(this.#organisation, bytes, deliveries)
    addTo(this.#all, bytes, deliveries)
    this.#closeWhenEmpty()
  }

  /** An attempt begins, or with -1 ends. */
  addSocket(change: 1 | -1): void {
    this.#own.sockets += change
    this.#organisation.sockets += change
    this.#all.sockets += change
    this.#closeWhenEmpty()
  }

  /** Another attempt leaves others enough sockets. */
  get hasSocket(): boolean {
    return this.#spare('sockets') > 0
  }

  /** Another delivery would take the room of others. */
  get isOver(): boolean {
    return this.#spare('bytes') <= 0 || this.#spare('deliveries') <= 0
  }

  /** How many of so many rows may be claimed for a lane that hangs, however large they are. */
  rowsFor(limit: number): number {
    const bytes = Math.floor(this.#spare('bytes') / (3 * ROW_BYTES_MAX))
    const rows = Math.min(limit, bytes, Math.floor(this.#spare('deliveries') / 3))
    if (this.#own.deliveries === 0) return this.isOver ? 0 : Math.max(1, rows)
    return rows < Math.min(limit, CLAIM_ROWS_MIN) ? 0 : rows
  }

  /** Counts what a claim may bring until it has come. */
  reserve(rows: number): Disposable {
    const bytes = Math.min(rows * ROW_BYTES_MAX, CLAIM_BYTES_MAX)
    this.add(bytes, rows)
    return { [Symbol.dispose]: () => this.add(-bytes, -rows) }
  }

  /** The lane is gone; its last deliveries are counted until they end. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    this.#closeWhenEmpty()
  }

  #spare(kind: Kind): number {
    const free = this.#max[kind] - this.#all[kind]
    const own = this.#own[kind]
    const organisation = this.#organisation[kind]
    return own === 0 ? free - organisation / 3 : free - organisation - own
  }

  #closeWhenEmpty(): void {
    if (!this.#isClosed || this.#own.deliveries > 0 || this.#own.sockets > 0) return
    this.#isClosed = false
    this.#closed()
  }
}

function addTo(used: Used, bytes: number, deliveries: number): void {
  used.bytes += bytes
  used.deliveries += deliveries
}

function nothing(): Used {
  return { bytes: 0, deliveries: 0, sockets: 0 }
}
