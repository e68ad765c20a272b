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
/** A connector enrols one agent in 5 seconds; a check of its key is answered 429 meanwhile. */
const UNSURE_LOOK_MS = 6_000

export interface Enrolled {
  enrolledAt: string
  /** The version of the Secret, whose key the relay takes; undefined until the relay has confirmed it. */
  version: string | undefined
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
 * Secret, another one replaces it, and agents that have enrolled go on. The key of a Secret that was changed is compared with
 * its hash, and shown to the relay: a backup may have brought an old one.
 */
export async function ensureEnrolment(asked: Enrolling): Promise<Enrolled> {
  const { connector, spec, seen, enrollmentKey } = asked
  if (enrollmentKey !== undefined) return await store(asked, enrollmentKey, new Date())
  const known = isGood(asked, seen) ? seen : undefined
  if (known !== undefined && isVerified(asked, known)) return knownBy(known, spec)
  const { namespace = '' } = connector.metadata
  const secret = await asked.kube.get(SECRET, namespace, childName(connector))
  if (secret !== undefined && controllerOf(secret)?.uid !== connector.metadata.uid) {
    throw new Halt('ChildConflict', `A Secret "${childName(connector)}" exists that is not ours`)
  }
  const key = keyIn(secret)
  if (secret !== undefined && key !== undefined && isGood(asked, secret)) {
    const isSeen = secret.metadata.labels?.[MANAGED_LABEL] === MANAGED_BY
    const content = secret.metadata.annotations?.[CONTENT_ANNOTATION]
    const isOurs = content?.startsWith(hashOf(key)) === true
    const isTaken =
      isOurs && (isLast(asked, secret) || (await asked.client.takesEnrollmentKey(key)))
    if (isTaken === undefined) return { ...enrolledBy(secret, spec), rotateInMs: UNSURE_LOOK_MS }
    if (isTaken && isSeen && content === contentHash(asked, key)) {
      note(asked, secret)
      return knownBy(secret, spec)
    }
    // The label or the CA is another.
    if (isTaken) return await store(asked, key, new Date(enrolledBy(secret, spec).enrolledAt))
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

/** It is as it was written or read last, by this process or the one before. */
function isVerified(asked: Enrolling, secret: KubeObject): boolean {
  const content = secret.metadata.annotations?.[CONTENT_ANNOTATION] ?? ''
  if (!content.endsWith(hashOf(asked.ca ?? '')) || lastOf(asked) !== versionOf(secret)) return false
  note(asked, secret)
  return true
}

/** The version of the Secret whose key was last known to be good. */
function lastOf({ memory, connector }: Enrolling): string | undefined {
  return memory.enrolled?.version ?? connector['status']?.enrollmentVersion
}

/** Counts as unchanged: an earlier operator has left no version. */
function isLast(asked: Enrolling, secret: KubeObject): boolean {
  const last = lastOf(asked)
  return last === undefined || last === versionOf(secret)
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid}/${metadata.resourceVersion}`
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
  return knownBy(written, spec)
}

function note({ memory }: Enrolling, secret: KubeObject): void {
  memory.enrolled = { version: versionOf(secret) }
}

/** The key in it is good. */
function knownBy(secret: KubeObject, spec: ConnectorSpec): Enrolled {
  return { ...enrolledBy(secret, spec), version: versionOf(secret) }
}

function enrolledBy({ metadata }: KubeObject, { enrollment }: ConnectorSpec): Enrolled {
  const version = undefined
  const enrolledAt = metadata.annotations?.[ENROLLED_ANNOTATION] ?? new Date(0).toISOString()
  const after = durationMs(enrollment?.rotateAfter)
  if (after === undefined) return { enrolledAt, version, rotateInMs: undefined }
  const rotateInMs = Date.parse(enrolledAt) + Math.max(after, ROTATE_MIN_MS) - Date.now()
  return { enrolledAt, version, rotateInMs }
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
