import { createHash } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

/** Who this agent is to its relay. */
const Identity = z.object({
  relay: z.string(),
  instanceName: z.string(),
  /** The hash of its enrolment key: another key is for another connector. */
  keyHash: z.string(),
  connectorId: z.string(),
  replicaId: z.string(),
  token: z.string(),
  gatewayUrl: z.string(),
  allowedHosts: z.array(z.string()),
})

/** The relay has ended this agent, and it must not come back by itself. */
const Ended = z.object({
  relay: z.string(),
  keyHash: z.string(),
  ended: z.enum(['connector_deleted', 'replica_revoked']),
})

export type Identity = z.infer<typeof Identity>
export type Ended = z.infer<typeof Ended>

/** Why the relay does not take this agent for what it was. */
export type Loss = 'unknown' | 'identity_absent' | Ended['ended']

/** The word of a relay or a gateway for it. */
export function lossOf(reason: string | undefined): Loss | undefined {
  return reason === 'connector_deleted' ||
    reason === 'replica_revoked' ||
    reason === 'identity_absent'
    ? reason
    : undefined
}

const FILE = 'identity.json'

/**
 * The identity on disk, for its owner's eyes alone. A file is written whole beside it and takes its place, so that a
 * process that dies at any moment leaves either one or the other.
 */
export class IdentityFile {
  readonly path: string
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
    this.path = join(dir, FILE)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  }

  /** Undefined when there is none, or one that cannot be read: the agent enrols then. */
  read(): Identity | Ended | undefined {
    try {
      return z.union([Identity, Ended]).parse(JSON.parse(readFileSync(this.path, 'utf8')))
    } catch {
      return undefined
    }
  }

  /** The relay ended the agent that has this directory. */
  hasEnded(): boolean {
    const kept = this.read()
    return kept !== undefined && 'ended' in kept
  }

  write(identity: Identity | Ended): void {
    const beside = join(this.#dir, `.${FILE}.${process.pid}`)
    rmSync(beside, { force: true })
    const file = openSync(beside, 'wx', 0o600)
    try {
      writeSync(file, JSON.stringify(identity))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(beside, this.path)
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }
}

/** Tells one key from another without keeping it. */
export function hashOfKey(key: string | undefined): string {
  return createHash('sha256')
    .update(key ?? '')
    .digest('hex')
}
