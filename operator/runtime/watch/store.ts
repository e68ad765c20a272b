import { keyOf, type KubeObject } from '../kube/object.ts'

/** A change of an object: without `after` it is gone, without `before` it is new. */
export interface Change<T> {
  before?: T
  after?: T
}

/** Objects of a kind as they were last seen, and lists of them by what they have in common. */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, Index<T>>()
  readonly #listeners: ((change: Change<T>) => void)[] = []

  /** Called with each change. It must not throw: the store goes on, and the fault is the listener's. */
  listen(listener: (change: Change<T>) => void): void {
    this.#listeners.push(listener)
  }

  /** Adds a list by the texts that `of` reads from an object. */
  index(name: string, of: (object: T) => readonly string[]): void {
    this.#indexes.set(name, { of, keys: new Map() })
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  all(): T[] {
    return [...this.#objects.values()]
  }

  by(name: string, text: string): T[] {
    const keys = this.#indexes.get(name)?.keys.get(text) ?? []
    return [...keys].flatMap((key) => this.#objects.get(key) ?? [])
  }

  put(object: T): void {
    const key = keyOf(object)
    const before = this.#objects.get(key)
    const isSame = before?.metadata.resourceVersion === object.metadata.resourceVersion
    if (before !== undefined && isSame && before.metadata.uid === object.metadata.uid) return
    if (before !== undefined) this.#unlist(key, before)
    this.#objects.set(key, object)
    for (const { of, keys } of this.#indexes.values()) {
      for (const text of of(object)) keys.set(text, (keys.get(text) ?? new Set()).add(key))
    }
    // An object of the same name that was made anew is another.
    if (before !== undefined && before.metadata.uid !== object.metadata.uid) {
      this.#tell({ before })
      this.#tell({ after: object })
    } else {
      this.#tell({ ...(before !== undefined && { before }), after: object })
    }
  }

  remove(key: string): void {
    const before = this.#objects.get(key)
    if (before === undefined) return
    this.#unlist(key, before)
    this.#objects.delete(key)
    this.#tell({ before })
  }

  #unlist(key: string, object: T): void {
    for (const { of, keys } of this.#indexes.values()) {
      for (const text of of(object)) {
        keys.get(text)?.delete(key)
        if (keys.get(text)?.size === 0) keys.delete(text)
      }
    }
  }

  #tell(change: Change<T>): void {
    for (const listener of this.#listeners) listener(change)
  }
}

interface Index<T> {
  of: (object: T) => readonly string[]
  keys: Map<string, Set<string>>
}
