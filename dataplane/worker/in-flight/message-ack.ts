import type { StreamMessage } from '../../../core/jetstream/delivery-pull.ts'

/**
 * Acks a stream message when all of its deliveries are done; naks it if any was given back. Then all of its deliveries
 * come again; finished ones are not claimed a second time.
 */
export class MessageAck {
  readonly #message: Pick<StreamMessage, 'ack' | 'nak'>
  #open: number
  #isGivenBack = false

  constructor(message: Pick<StreamMessage, 'ack' | 'nak'>, deliveries: number) {
    this.#message = message
    this.#open = deliveries
  }

  /** A delivery of the message is done. */
  ack(): void {
    this.#open--
    if (this.#open > 0) return
    if (this.#isGivenBack) this.#message.nak()
    else this.#message.ack()
  }

  /** A delivery of the message is given back. */
  nak(): void {
    this.#isGivenBack = true
    this.ack()
  }
}
