import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import {
  claimAnswer,
  findAnswer,
  keepAnswer,
  releaseAnswer,
  type Claim,
} from '../../core/db/requests/idempotent-answers.ts'
import { refuse, refuseField } from '../../core/errors.ts'
import {
  IDEMPOTENCY_KEY_LENGTH_MAX,
  IDEMPOTENCY_WAIT_MS,
  IDEMPOTENT_ANSWER_BYTES_MAX,
} from '../../core/limits.ts'
import { deriveKeyring, digestOf } from '../../core/secrets/derived.ts'
import { seal, unseal, type Keyring } from '../../core/secrets/sealed.ts'
import type { Deps } from '../deps.ts'
import { parseJson } from './body.ts'
import type { Answer } from './route.ts'

/** How often a waiting request looks again: quickly at first, as most answers are there in milliseconds. */
const LOOK_AGAIN_MS_FIRST = 20
const LOOK_AGAIN_MS_MAX = 250

const KEY = new RegExp(`^[!-~]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`)
const Kept = z.union([
  z.object({ status: z.int(), body: z.unknown() }),
  /** Marks an answer that was too large to store. */
  z.object({ isTooLarge: z.literal(true) }),
])

/** A request with an Idempotency-Key. (decisions: Conventions of the API) */
export interface Repeatable {
  /** The text of the header. */
  key: string
  /** The key's scope: who asks, for what. */
  actor: string
  method: string
  path: string
  /** Must be the same when the key comes again: query, project header and body. */
  content: readonly (string | Uint8Array)[]
}

interface Once {
  claim: Claim
  keyring: Keyring
  content: Buffer
}

/**
 * Runs `act` for the first request with a key and gives its answer to later ones. A request that comes while it runs waits,
 * without a database connection. Refusals and retryable answers (429, 5xx) are not stored: the next try may succeed.
 */
export async function answerOnce(
  deps: Deps,
  repeatable: Repeatable,
  act: () => Promise<Answer>,
): Promise<Answer> {
  const once = prepare(deps.keyring, repeatable)
  const known = await claimOrWait(deps, once)
  if (known !== undefined) return { ...known, headers: { 'idempotent-replayed': 'true' } }
  try {
    const answer = await act()
    await keep(deps, once, answer)
    return answer
  } catch (error) {
    await releaseAnswer(deps.db, once.claim).catch((err: unknown) =>
      // It lapses by itself.
      deps.log.warn({ err }, 'Cannot release an idempotency key'),
    )
    throw error
  }
}

/**
 * A body as it is compared: a client that sends its request again may write the members in another order. No body is as
 * good as an empty one, and what is no JSON is compared byte for byte.
 */
export function comparable(body: unknown): string | Uint8Array {
  if (!Buffer.isBuffer(body) || body.length === 0) return '{}'
  try {
    return JSON.stringify(parseJson(body), withSortedMembers)
  } catch {
    return body
  }
}

function withSortedMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns the key of a request. Refuses a malformed key. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = String(header)
  return KEY.test(text)
    ? text
    : refuseField(
        'header.idempotency-key',
        `Expected 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters`,
      )
}

function prepare(keyring: Keyring, { key, actor, method, path, content }: Repeatable): Once {
  const digest = digestOf([actor, method, path, key])
  return {
    claim: { digest, holder: randomUUID() },
    keyring: deriveKeyring(keyring, key, { salt: digest, purpose: 'postern idempotency' }),
    content: digestOf(content),
  }
}

/** Undefined: the row is ours and the request is to be run. */
async function claimOrWait({ db, clock }: Deps, once: Once): Promise<Answer | undefined> {
  const { claim, keyring, content } = once
  const request = seal(keyring, content.toString('base64'))
  const patience = AbortSignal.timeout(IDEMPOTENCY_WAIT_MS)
  for (let pauseMs = LOOK_AGAIN_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, LOOK_AGAIN_MS_MAX)) {
    if (await claimAnswer(db, claim, request, clock.now())) return undefined
    const known = await findAnswer(db, claim.digest)
    if (known !== undefined) {
      if (unseal(keyring, known.request) !== content.toString('base64')) {
        refuse('CONFLICT', 'Idempotency-Key was used with another request')
      }
      if (known.answer !== null) return keptAnswer(unseal(keyring, known.answer))
    }
    if (patience.aborted) {
      refuse('CONFLICT', 'The first request with this Idempotency-Key still runs: repeat it later')
    }
    await sleep(pauseMs)
  }
}

function keptAnswer(value: unknown): Answer {
  const kept = Kept.parse(value)
  if ('status' in kept) return kept
  return refuse('CONFLICT', 'The request was done; its answer was too large to be kept')
}

/** The answer is given even if it cannot be kept: what it tells of has happened. */
async function keep({ db, log }: Deps, { claim, keyring }: Once, answer: Answer): Promise<void> {
  const { status, body } = answer
  const size = Buffer.byteLength(JSON.stringify(body ?? null))
  const kept = size > IDEMPOTENT_ANSWER_BYTES_MAX ? { isTooLarge: true } : { status, body }
  try {
    await keepAnswer(db, claim, seal(keyring, kept))
  } catch (err) {
    log.error({ err }, 'Cannot store the answer of an idempotent request')
  }
}
