import { request as httpRequest, type Dispatcher } from 'undici'

import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { captureSecret } from '../../../core/db/events/ingest/ingest-sources.ts'
import type { Logger } from '../../../core/log.ts'
import type { Keyring } from '../../../core/secrets/sealed.ts'
import { sealSourceSecrets } from '../../../core/secrets/source-secrets.ts'
import {
  handshakeAfter,
  handshakeBefore,
  type HandshakeAction,
  type HandshakeSecrets,
} from '../../../core/verify/handshake.ts'
import type { SignedRequest, Slot } from '../../../core/verify/request/signed-request.ts'
import type { IngestRequest } from '../accept/event.ts'
import type { IngestSource } from '../accept/sources.ts'
import { unavailable, type Answer } from './answer.ts'
import { isInOverlap } from './secret-usage.ts'

/** A confirmation that takes longer is asked for again by the provider. */
const VISIT_TIMEOUT_MS = 5_000

export interface HandshakesDeps {
  db: Db
  clock: Clock
  log: Logger
  keyring: Keyring
  /** Reaches public addresses only. */
  dispatcher: Dispatcher
  /** A handshake was answered. */
  note(source: IngestSource): void
  /** The source's secret is another now. */
  forget(source: IngestSource): Promise<void>
}

/** Answers what providers ask before they send. Control traffic: it is not stored. (decisions: Ingest) */
export class Handshakes {
  readonly #deps: HandshakesDeps

  constructor(deps: HandshakesDeps) {
    this.#deps = deps
  }

  /** Whether a request of a method that the source does not take may still be a challenge. */
  mayAnswer(source: IngestSource, { method }: IngestRequest): boolean {
    return source.handshake !== undefined && ['GET', 'POST', 'OPTIONS'].includes(method)
  }

  /** A challenge that comes unsigned; undefined when the request is none. A promise only where one may come. */
  before(source: IngestSource, signed: SignedRequest): Promise<Answer | undefined> | undefined {
    const { handshake, config } = source
    if (handshake === undefined || config === undefined) return undefined
    const secrets = this.#secretsOf(source)
    return this.#act(source, handshakeBefore(handshake, signed, config, secrets))
  }

  /** A challenge inside a request that `verifiedBy` verified; undefined when the request is an event. */
  after(
    source: IngestSource,
    signed: SignedRequest,
    verifiedBy: Slot | null,
  ): Promise<Answer | undefined> | undefined {
    const { handshake, config } = source
    if (handshake === undefined || config === undefined) return undefined
    const secrets = this.#secretsOf(source)
    const known = verifiedBy === null ? secrets : { ...secrets, verifiedBy }
    return this.#act(source, handshakeAfter(handshake, signed, config, known))
  }

  /** Some challenges show a secret: after the overlap the previous one is no longer good for them either. */
  #secretsOf(source: IngestSource): HandshakeSecrets {
    const isGood = isInOverlap(source, this.#deps.clock.now())
    return isGood ? source.secrets : { ...source.secrets, previous: undefined }
  }

  async #act(
    source: IngestSource,
    action: HandshakeAction | undefined,
  ): Promise<Answer | undefined> {
    if (action === undefined) return undefined
    if (action.kind === 'capture' && !(await this.#capture(source, action.secret))) return undefined
    if (action.kind === 'visit' && !(await this.#visit(action.url))) return unavailable()
    this.#deps.note(source)
    return { ...action.answer, outcome: 'handshake' }
  }

  /** False when the source has a secret by now: the request is then verified like any other. */
  async #capture(source: IngestSource, secret: string): Promise<boolean> {
    const { db, clock, keyring } = this.#deps
    const secrets = sealSourceSecrets(keyring, source, { current: secret })
    if (secrets === null) return false
    const kept = await captureSecret(
      db,
      source.id,
      { secrets, hint: secret.slice(-4) },
      clock.now(),
    )
    if (kept) await this.#deps.forget(source)
    return kept
  }

  async #visit(url: string): Promise<boolean> {
    try {
      const { statusCode, body } = await httpRequest(url, {
        dispatcher: this.#deps.dispatcher,
        signal: AbortSignal.timeout(VISIT_TIMEOUT_MS),
      })
      await body.dump()
      return statusCode < 300
    } catch (err) {
      this.#deps.log.warn({ err }, 'Cannot confirm a subscription')
      return false
    }
  }
}
