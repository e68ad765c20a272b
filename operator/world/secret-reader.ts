import type { KubeClient } from '../runtime/kube/client.ts'
import { type KubeObject } from '../runtime/kube/object.ts'
import type { Store } from '../runtime/watch/store.ts'
import { SECRET } from './child-kinds.ts'

const KEPT_MAX = 1_000

/** Values of Secrets that objects refer to. A Secret is asked for once, and again when it has changed. */
export class SecretReader {
  readonly #client: KubeClient
  readonly #known: Store<KubeObject>
  readonly #kept = new Map<string, { version: string; values: Promise<Map<string, string>> }>()

  constructor(client: KubeClient, known: Store<KubeObject>) {
    this.#client = client
    this.#known = known
  }

  /** Undefined when there is no such Secret, or no such key in it. */
  async value(
    namespace: string,
    { name, key }: { name: string; key: string },
  ): Promise<string | undefined> {
    return (await this.values(namespace, name))?.get(key)
  }

  async values(namespace: string, name: string): Promise<Map<string, string> | undefined> {
    const id = `${namespace}/${name}`
    const known = this.#known.get(id)
    if (known === undefined) {
      this.#kept.delete(id)
      return undefined
    }
    const version = known.metadata.resourceVersion ?? ''
    const kept = this.#kept.get(id)
    if (kept?.version === version) return await kept.values
    const values = this.#read(namespace, name)
    this.#kept.delete(id)
    this.#kept.set(id, { version, values })
    values.catch(() => this.#kept.delete(id))
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest)
    return await values
  }

  async #read(namespace: string, name: string): Promise<Map<string, string>> {
    const secret = await this.#client.get(SECRET, namespace, name)
    const data: Record<string, string> = secret?.['data'] ?? {}
    return new Map(
      Object.entries(data).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString('utf8'),
      ]),
    )
  }
}
