/** The answer of `next()` at the end. */
export const NO_MORE = -1

const ZERO = 48

/**
 * The whole numbers of a text, none of them negative, whatever stands between them. Letter by letter: a dashboard reads a
 * hundred thousand, and a string for each costs four times as much.
 */
export class Numbers {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  next(): number {
    const text = this.#text
    let at = this.#at
    let number = NO_MORE
    for (; at < text.length; at++) {
      const digit = text.charCodeAt(at) - ZERO
      if (digit >= 0 && digit <= 9) number = number === NO_MORE ? digit : number * 10 + digit
      else if (number !== NO_MORE) break
    }
    this.#at = at
    return number
  }
}
