import type { StreamMessage } from '../../core/stream/delivery-pull.ts'

/** Of one delivery of a message, to be given once; what comes after the first is not heard. */
export interface Answer {
  /** It is taken care of. */
  ack(): void
  /** It is given back. */
  nak(): void
}

/**
 * The answers of a message's deliveries. The message is answered with the last of them; one that was given back brings
 * all of it again, and those that are taken care of by then are not claimed a second time.
 */
export function answersOf(
  { ack, nak }: Pick<StreamMessage, 'ack' | 'nak'>,
  count: number,
): Answer[] {
  let open = count
  let isGivenBack = false
  return Array.from({ length: count }, () => {
    let isAnswered = false
    const answer = (givesBack: boolean): void => {
      if (isAnswered) return
      isAnswered = true
      isGivenBack ||= givesBack
      open--
      if (open > 0) return
      if (isGivenBack) nak()
      else ack()
    }
    return { ack: () => answer(false), nak: () => answer(true) }
  })
}
