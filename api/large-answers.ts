import { once } from 'node:events'
import { Readable } from 'node:stream'

import {
  isNewcomers,
  type OrganisationShares,
} from '../core/db/configuration/organisation-shares.ts'
import {
  ANSWER_BYTES_PER_SECOND_MIN,
  ANSWER_RATE_SECONDS,
  ANSWERS_PER_ORGANISATION,
  ANSWERS_PER_PROCESS,
  ANSWERS_WAITING_MAX,
} from '../core/limits.ts'
import { Semaphore } from '../core/pacing/semaphore.ts'
import { TooManyRequests } from './auth/rate-limit.ts'

const RETRY_AFTER_SECONDS = 1

const RATE_BYTES_MIN = ANSWER_BYTES_PER_SECOND_MIN * ANSWER_RATE_SECONDS

/**
 * Answers that show a large body. Each holds the body until its client has taken it, so that they have places, an organisation
 * has a share of these, and a client that takes its answer too slowly loses it.
 */
export class LargeAnswers {
  readonly #shares: Pick<OrganisationShares, 'of'>
  readonly #places = new Semaphore(ANSWERS_PER_PROCESS)
  readonly #turns = new Map<string, Semaphore>()
  /** All newcomers together have half of the places. */
  readonly #newcomers = new Semaphore(ANSWERS_PER_PROCESS / 2)

  constructor(shares: Pick<OrganisationShares, 'of'>) {
    this.#shares = shares
  }

  /**
   * Reads the answer once there is a place for it, and nothing for a client that has left by then. Refuses it when too many of
   * the organisation wait already.
   */
  async open(
    organisationId: string,
    read: () => Promise<AsyncIterable<Buffer>>,
    hasLeft = () => false,
  ): Promise<Readable> {
    const share = await this.#shares.of(organisationId)
    const turns = this.#turns.get(share) ?? new Semaphore(ANSWERS_PER_ORGANISATION)
    this.#turns.set(share, turns)
    if (turns.waiting >= ANSWERS_WAITING_MAX) {
      throw new TooManyRequests(
        `More than ${ANSWERS_WAITING_MAX} events with large bodies are read by the organisation already`,
        RETRY_AFTER_SECONDS,
      )
    }
    const { promise, resolve, reject } = Promise.withResolvers<Readable>()
    const hold = async (): Promise<void> => {
      if (hasLeft()) return resolve(Readable.from([]))
      const answer = paced(await read())
      resolve(answer)
      await once(answer, 'close')
    }
    const place = async (): Promise<void> => await this.#places.take(hold)
    void turns
      .take(isNewcomers(share) ? () => this.#newcomers.take(place) : place)
      .catch(reject)
      .finally(() => {
        if (turns.isIdle) this.#turns.delete(share)
      })
    return await promise
  }
}

/** The bytes of an answer at the rate at which its client takes them, which may be too low at no time. */
function paced(pieces: AsyncIterable<Buffer>): Readable {
  let taken = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      taken += piece.length
      yield piece
    }
  }
  const answer = Readable.from(counted(), { objectMode: false })
  const look = setInterval(() => {
    if (taken < RATE_BYTES_MIN) answer.destroy()
    taken = 0
  }, ANSWER_RATE_SECONDS * 1_000)
  answer.once('close', () => clearInterval(look))
  return answer
}
