import type { StreamMessage } from '../../../core/jetstream/delivery-pull.ts'

/**
 * What a message's deliveries say of it, each once. The message is answered with the last of them; one that was given
 * back brings all of it again, and those that are taken care of by then are not claimed a second time.
 */
export class Answers {
  readonly #message: Pick<StreamMessage, 'ack' | 'nak'>
  #open: number
  #isGivenBack = false

  constructor(message: Pick<StreamMessage, 'ack' | 'nak'>, deliveries: number) {
    this.#message = message
    this.#open = deliveries
  }

  /** One is taken care of. */
  ack(): void {
    this.#open--
    if (this.#open > 0) return
    if (this.#isGivenBack) this.#message.nak()
    else this.#message.ack()
  }

  /** One is given back. */
  nak(): void {
    this.#isGivenBack = true
    this.ack()
  }
}
