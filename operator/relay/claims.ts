/**
 * Which object of this cluster has which resource of the relay, as this process has seen it: a list is a poll old, and two
 * objects that name the same resource would both find it free there.
 */
export class Claims {
  readonly #holders = new Map<string, string>()
  readonly #held = new Map<string, string>()

  /** False when another object has it. */
  take(id: string, uid: string): boolean {
    const holder = this.#holders.get(id)
    if (holder !== undefined && holder !== uid) return false
    this.forget(uid)
    this.#holders.set(id, uid)
    this.#held.set(uid, id)
    return true
  }

  /** The object is gone. */
  forget(uid: string): void {
    const id = this.#held.get(uid)
    this.#held.delete(uid)
    if (id !== undefined) this.#holders.delete(id)
  }
}
