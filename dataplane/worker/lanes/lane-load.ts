import type { Allowance, Allowances } from '../in-flight/allowances.ts'
import type { Work } from '../in-flight/work.ts'

/** So many attempts end in a second or two for each that is under way, when they take half a second each. */
const ENDS_OF_EACH = 2

/** The deliveries and attempts of a lane, how fast attempts end, and whether they leave enough to other lanes. */
export class LaneLoad implements Disposable {
  readonly #allowances: Allowances
  /** Made when the first work comes. */
  #allowance: Allowance | undefined
  #active = 0
  /** Attempts that ended in this second and the one before. */
  #endedRecently = 0
  #endedBefore = 0

  constructor(allowances: Allowances) {
    this.#allowances = allowances
  }

  /** Attempts under way. */
  get active(): number {
    return this.#active
  }

  /** Attempts that end in the next seconds, if they go on as they do. */
  get expected(): number {
    return 2 * this.#endedBefore + this.#endedRecently
  }

  /** Counts it until it ends. */
  add(work: Work): void {
    this.#allowance ??= this.#allowances.open(work.organisationId)
    work.allowance = this.#allowance
    this.#allowance.add(work.bytes, 1)
  }

  /** An attempt begins, until `end`. */
  begin(): void {
    this.#active++
    this.#allowance?.addSocket(1)
  }

  end(): void {
    this.#active--
    this.#endedRecently++
    this.#allowance?.addSocket(-1)
  }

  /** Once a second. */
  turn(): void {
    this.#endedBefore = this.#endedRecently
    this.#endedRecently = 0
  }

  /** Another attempt leaves others enough sockets. */
  get hasSocket(): boolean {
    return this.#allowance?.hasSocket ?? true
  }

  /** Its attempts hang, or none has ended yet, and more work would take what others need. */
  get isOver(): boolean {
    return this.#allowance?.isOver === true && this.#isSlow
  }

  /** The allowance that a claim must keep to; undefined while attempts end fast. */
  get bounds(): Allowance | undefined {
    return this.#isSlow ? this.#allowance : undefined
  }

  /** The lane is gone. */
  [Symbol.dispose](): void {
    this.#allowance?.[Symbol.dispose]()
  }

  get #isSlow(): boolean {
    return this.#endedBefore + this.#endedRecently < ENDS_OF_EACH * Math.max(1, this.#active)
  }
}
