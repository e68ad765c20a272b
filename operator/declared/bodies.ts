import type { z } from 'zod'

import { ConnectionSpec } from '../kinds/connection.ts'
import { DestinationSpec } from '../kinds/destination.ts'
import type { SecretKeyRef } from '../kinds/parts.ts'
import { SourceSpec } from '../kinds/source.ts'
import { Halt } from '../relay/problem.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import type { Store } from '../runtime/watch/store.ts'
import type { Deps } from '../world/deps.ts'
import type { Use } from '../world/secret-reader.ts'

/** Objects that are named may come later: whoever waits is woken when they do. */
const WAIT = { againMs: 60_000 }

/** A value of a Secret, or the mark that stands for it where people may see what is made of it. */
export type Read = 'value' | 'mark'

type Reader = (ref: SecretKeyRef, member: string) => Promise<string>

/** The body of a source as the API has it, its secrets read from their Secrets. */
export async function sourceBody(deps: Deps, object: KubeObject, what: Read): Promise<object> {
  const { verifier, handshake, enabled, ...spec }: z.infer<typeof SourceSpec> = SourceSpec.parse(
    object['spec'],
  )
  const read = readerOf(deps, object, 'source', what)
  const { eventTypeField, idempotencyKeys, allowedMethods, maxPayloadSizeKb, ingestResponse } = spec
  return {
    isEnabled: enabled,
    verifier: verifier && (await withSecrets(verifier, 'verifier', read)),
    handshake: handshake && {
      verifyToken: await read(handshake.verifyTokenSecretRef, 'handshake.verifyTokenSecretRef'),
    },
    eventTypeField,
    idempotencyKeys,
    allowedMethods,
    maxPayloadSizeKb,
    ingestResponse,
  }
}

export async function destinationBody(deps: Deps, object: KubeObject, what: Read): Promise<object> {
  const spec = DestinationSpec.parse(object['spec'])
  const read = readerOf(deps, object, 'destination', what)
  const headers: Record<string, string> = { ...spec.headers }
  for (const [at, { name, secretRef }] of (spec.headersFrom ?? []).entries()) {
    headers[name] = await read(secretRef, `headersFrom[${at}].secretRef`)
  }
  const { url, mode, method, timeoutMs, rateLimit, rateLimitPeriod, maxConcurrency } = spec
  const { connectorRef, connectorId, retryPolicy, auth, enabled } = spec
  const { connectors } = deps.world
  return {
    url,
    mode,
    method,
    timeoutMs,
    rateLimit,
    rateLimitPeriod,
    maxConcurrency,
    retryPolicy,
    isEnabled: enabled,
    connectorId: connectorRef
      ? idOf(connectors, object, {
          name: connectorRef.name,
          member: 'connectorId',
          kind: 'Connector',
        })
      : connectorId,
    headers,
    auth: auth && (await authBody(auth, read)),
  }
}

export async function connectionBody(deps: Deps, object: KubeObject): Promise<object> {
  const { sourceRef, sourceId, destinationRef, destinationId, enabled, filter } =
    ConnectionSpec.parse(object['spec'])
  const { sources, destinations } = deps.world
  return await Promise.resolve({
    sourceId: sourceRef
      ? idOf(sources, object, { name: sourceRef.name, member: 'sourceId', kind: 'Source' })
      : sourceId,
    destinationId: destinationRef
      ? idOf(destinations, object, {
          name: destinationRef.name,
          member: 'destinationId',
          kind: 'Destination',
        })
      : destinationId,
    isEnabled: enabled,
    filter,
  })
}

type Auth = NonNullable<z.infer<typeof DestinationSpec>['auth']>

async function authBody(auth: Auth, read: Reader): Promise<object> {
  const { passwordSecretRef, tokenSecretRef, clientSecretRef, ...open } = auth
  const of = async (member: string, ref: SecretKeyRef): Promise<string> =>
    await read(ref, `auth.${member}`)
  return {
    ...open,
    ...(passwordSecretRef && { password: await of('passwordSecretRef', passwordSecretRef) }),
    ...(tokenSecretRef && { token: await of('tokenSecretRef', tokenSecretRef) }),
    ...(clientSecretRef && { clientSecret: await of('clientSecretRef', clientSecretRef) }),
  }
}

function readerOf({ secrets }: Deps, { metadata }: KubeObject, use: Use, what: Read): Reader {
  const { namespace = '' } = metadata
  return async ({ name, key }, member) => {
    const found = await secrets.value({ namespace, name, use, member: `spec.${member}` }, key)
    if (found.kind === 'found') return found[what]
    throw new Halt('SecretNotFound', found.message, WAIT)
  }
}

/** In place of each `secretRef`, at any depth, the `secret` that it names. */
async function withSecrets(value: unknown, path: string, read: Reader): Promise<unknown> {
  if (Array.isArray(value)) {
    const each = async (item: unknown, at: number): Promise<unknown> =>
      await withSecrets(item, `${path}[${at}]`, read)
    return await Promise.all(value.map(each))
  }
  if (typeof value !== 'object' || value === null) return value
  if ('secret' in value) {
    throw new Halt('Refused', `spec.${path}.secret: a secret does not belong here. Use secretRef`)
  }
  const members = await Promise.all(
    Object.entries(value).map(async ([name, member]): Promise<[string, unknown]> => {
      const place = `${path}.${name}`
      if (name !== 'secretRef') return [name, await withSecrets(member, place, read)]
      return ['secret', await read({ name: String(member?.name), key: String(member?.key) }, place)]
    }),
  )
  return Object.fromEntries(members)
}

function idOf(
  store: Store<KubeObject>,
  { metadata }: KubeObject,
  {
    name,
    member,
    kind,
  }: { name: string; member: string; kind: 'Connector' | 'Source' | 'Destination' },
): string {
  const named = store.get(`${metadata.namespace}/${name}`)
  const id: string | undefined = named?.['status']?.[member]
  if (id !== undefined && named?.metadata.deletionTimestamp === undefined) return id
  throw new Halt(`WaitingFor${kind}`, `The ${kind} "${name}" is not in the relay yet`, WAIT)
}
