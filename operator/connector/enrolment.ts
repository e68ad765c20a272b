import { createHash } from 'node:crypto'

import type { ConnectorSpec } from '../kinds/connector.ts'
import { GROUP } from '../kinds/parts.ts'
import { Halt } from '../relay/problem.ts'
import type { RelayClient } from '../relay/relay-client.ts'
import type { KubeClient } from '../runtime/kube/client.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import { controllerOf } from '../runtime/objects/ownership.ts'
import { MANAGED_BY, MANAGED_LABEL, SECRET } from '../world/child-kinds.ts'
import { applyChild } from './children/apply-child.ts'
import { childMeta } from './children/children.ts'
import { childName } from './children/names.ts'
import { CA_FILE, KEY_FILE } from './children/pod.ts'
import type { Memory } from './memory.ts'

/** An annotation of a Connector: another value has the key replaced. */
const ROTATE_ANNOTATION = `${GROUP}/rotate-enrollment`
const CONNECTOR_ANNOTATION = `${GROUP}/connector-id`
const ENROLLED_ANNOTATION = `${GROUP}/enrolled-at`
const CONTENT_ANNOTATION = `${GROUP}/content`

const ROTATE_MIN_MS = 3_600_000

export interface Enrolled {
  enrolledAt: string
  /** When the key is to be replaced. */
  rotateInMs: number | undefined
}

export interface Enrolling {
  connector: KubeObject
  spec: ConnectorSpec
  connectorId: string
  /** The key that came with the connector. */
  enrollmentKey: string | undefined
  ca: string | undefined
  kube: KubeClient
  client: RelayClient
  /** The Secret's metadata, as it was last seen. */
  seen: KubeObject | undefined
  memory: Memory
}

/**
 * The Secret with the enrolment key. A key is shown once: where it was lost, by a kill between two steps or with the
 * Secret, another one replaces it, and agents that have enrolled go on.
 */
export async function ensureEnrolment(asked: Enrolling): Promise<Enrolled> {
  const { connector, spec, seen, enrollmentKey } = asked
  if (enrollmentKey !== undefined) return await store(asked, enrollmentKey, new Date())
  const known = isGood(asked, seen) ? seen : undefined
  if (known !== undefined && isVerified(asked, known)) return enrolledBy(known, spec)
  const { namespace = '' } = connector.metadata
  const secret = await asked.kube.get(SECRET, namespace, childName(connector))
  if (secret !== undefined && controllerOf(secret)?.uid !== connector.metadata.uid) {
    throw new Halt('ChildConflict', `A Secret "${childName(connector)}" exists that is not ours`)
  }
  const key = keyIn(secret)
  if (secret !== undefined && key !== undefined && isGood(asked, secret)) {
    const isSeen = secret.metadata.labels?.[MANAGED_LABEL] === MANAGED_BY
    if (isSeen && secret.metadata.annotations?.[CONTENT_ANNOTATION] === contentHash(asked, key)) {
      note(asked, secret)
      return enrolledBy(secret, spec)
    }
    // Somebody has touched the key or the label, or the CA is another: only a key that we know to be ours is kept.
    if (secret.metadata.annotations?.[CONTENT_ANNOTATION]?.startsWith(hashOf(key)) === true) {
      return await store(asked, key, new Date(enrolledBy(secret, spec).enrolledAt))
    }
  }
  const answer = await asked.client.api.regenerateEnrollment({ id: asked.connectorId })
  return await store(asked, answer.enrollmentKey, new Date())
}

/** It is of this connector, as old as it may be, and of the last rotation that was asked for. */
function isGood(
  { connector, spec, connectorId }: Enrolling,
  secret: KubeObject | undefined,
): boolean {
  const { annotations = {} } = secret?.metadata ?? {}
  if (secret === undefined || annotations[CONNECTOR_ANNOTATION] !== connectorId) return false
  if (controllerOf(secret)?.uid !== connector.metadata.uid) return false
  if ((annotations[ROTATE_ANNOTATION] ?? '') !== rotationOf(connector)) return false
  const { rotateInMs } = enrolledBy(secret, spec)
  return rotateInMs === undefined || rotateInMs > 0
}

/** A Secret that has changed since we wrote or read it is read again. The first one that a process sees is believed. */
function isVerified(asked: Enrolling, { metadata }: KubeObject): boolean {
  const { memory, ca } = asked
  const content = metadata.annotations?.[CONTENT_ANNOTATION] ?? ''
  if (!content.endsWith(hashOf(ca ?? ''))) return false
  memory.enrolled ??= {
    connectorId: asked.connectorId,
    rotation: rotationOf(asked.connector),
    version: metadata.resourceVersion,
  }
  return memory.enrolled.version === metadata.resourceVersion
}

async function store(asked: Enrolling, key: string, at: Date): Promise<Enrolled> {
  const { connector, spec, connectorId, ca, kube } = asked
  const metadata = childMeta(connector)
  const object = {
    metadata: {
      ...metadata,
      annotations: {
        [CONNECTOR_ANNOTATION]: connectorId,
        [ENROLLED_ANNOTATION]: at.toISOString(),
        [ROTATE_ANNOTATION]: rotationOf(connector),
        [CONTENT_ANNOTATION]: contentHash(asked, key),
      },
    },
    type: 'Opaque',
    data: {
      [KEY_FILE]: base64(key),
      ...(ca !== undefined && { [CA_FILE]: base64(ca) }),
    },
  }
  const written = await applyChild(kube, { kind: SECRET, object })
  note(asked, written)
  return enrolledBy(written, spec)
}

function note({ memory, connectorId, connector }: Enrolling, { metadata }: KubeObject): void {
  const version = metadata.resourceVersion
  memory.enrolled = { connectorId, rotation: rotationOf(connector), version }
}

function enrolledBy({ metadata }: KubeObject, { enrollment }: ConnectorSpec): Enrolled {
  const enrolledAt = metadata.annotations?.[ENROLLED_ANNOTATION] ?? new Date(0).toISOString()
  const after = durationMs(enrollment?.rotateAfter)
  if (after === undefined) return { enrolledAt, rotateInMs: undefined }
  const rotateInMs = Date.parse(enrolledAt) + Math.max(after, ROTATE_MIN_MS) - Date.now()
  return { enrolledAt, rotateInMs }
}

function rotationOf({ metadata }: KubeObject): string {
  return metadata.annotations?.[ROTATE_ANNOTATION] ?? ''
}

function keyIn(secret: KubeObject | undefined): string | undefined {
  const text: string | undefined = secret?.['data']?.[KEY_FILE]
  return text === undefined || text === ''
    ? undefined
    : Buffer.from(text, 'base64').toString('utf8')
}

/** A hash of the key and of the CA, so that a change of either shows in the metadata. */
function contentHash({ ca }: Enrolling, key: string): string {
  return `${hashOf(key)}-${hashOf(ca ?? '')}`
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}

/** `1h30m` in milliseconds; undefined for none. */
function durationMs(text: string | undefined): number | undefined {
  const [, hours, minutes, seconds] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text ?? '') ?? []
  const total = Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0)
  return total === 0 ? undefined : total * 1_000
}
