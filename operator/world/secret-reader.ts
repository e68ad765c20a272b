import { GROUP } from '../kinds/parts.ts'
import type { KubeClient } from '../runtime/kube/client.ts'
import { keyOf, type KubeObject } from '../runtime/kube/object.ts'
import type { Store } from '../runtime/watch/store.ts'
import { SECRET } from './child-kinds.ts'

/** Says which kinds of objects may name a Secret: the kind, or several with dots between them, as `source.destination`. */
export const USE_LABEL = `${GROUP}/use`

export type Use = 'relay' | 'connector' | 'source' | 'destination'

/** The place in an object that names a value of a Secret. */
export interface SecretPlace {
  namespace: string
  /** Such as `spec.apiKeySecretRef`. */
  member: string
  name: string
  use: Use
}

export type SecretValue =
  /** `mark` is another when the value may be another, and says nothing of it. */
  { kind: 'found'; value: string; mark: string } | { kind: 'missing'; message: string }

const KEPT_MAX = 1_000

/**
 * Values of Secrets that objects name. Without its label a Secret does not exist for the operator: its rights are wider than
 * those of the people who write the objects. A Secret is asked for once, and again when it has changed.
 */
export class SecretReader {
  readonly #client: KubeClient
  readonly #known: Store<KubeObject>
  readonly #kept = new Map<string, { version: string; values: Promise<Map<string, string>> }>()

  /** `known` has the metadata of Secrets with the label. */
  constructor(client: KubeClient, known: Store<KubeObject>) {
    this.#client = client
    this.#known = known
    known.listen(({ before, after }) => {
      if (after === undefined && before !== undefined) this.#kept.delete(keyOf(before))
    })
  }

  async value(place: SecretPlace, key: string): Promise<SecretValue> {
    const { namespace, name, use, member } = place
    const unusable = this.unusable(place)
    if (unusable !== undefined) return { kind: 'missing', message: unusable }
    const mark = this.#markOf(`${namespace}/${name}`, key)
    const value = (await this.#values(namespace, name, use))?.get(key)
    if (value !== undefined) return { kind: 'found', value, mark }
    return { kind: 'missing', message: `${member}: the Secret "${name}" has no key "${key}"` }
  }

  /** Why an object may not name the Secret, and a remedy; undefined when it may. */
  unusable({ namespace, name, use, member }: SecretPlace): string | undefined {
    if (isFor(this.#known.get(`${namespace}/${name}`), use)) return undefined
    return `${member}: there is no Secret "${name}" with the label ${USE_LABEL}=${use}. Create it, or label it: kubectl label secret ${name} ${USE_LABEL}=${use}`
  }

  #markOf(id: string, key: string): string {
    const { uid = '', resourceVersion = '' } = this.#known.get(id)?.metadata ?? {}
    return `${uid}/${resourceVersion}/${key}`
  }

  async #values(
    namespace: string,
    name: string,
    use: Use,
  ): Promise<Map<string, string> | undefined> {
    const id = `${namespace}/${name}`
    const version = this.#known.get(id)?.metadata.resourceVersion ?? ''
    const kept = this.#kept.get(id)
    if (kept?.version === version) return await kept.values
    const values = this.#read(namespace, name, use)
    this.#kept.delete(id)
    this.#kept.set(id, { version, values })
    values.catch(() => this.#kept.delete(id))
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest)
    return await values
  }

  async #read(namespace: string, name: string, use: Use): Promise<Map<string, string>> {
    const secret = await this.#client.get(SECRET, namespace, name)
    // It may have lost its label since it was seen.
    const data: Record<string, string> = isFor(secret, use) ? (secret?.['data'] ?? {}) : {}
    return new Map(
      Object.entries(data).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString('utf8'),
      ]),
    )
  }
}

function isFor(secret: KubeObject | undefined, use: Use): boolean {
  return secret?.metadata.labels?.[USE_LABEL]?.split('.').includes(use) === true
}
