import type { Readable } from 'node:stream'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** The body of an answer as JSON that is written already, whole or while it is taken. */
export class JsonText {
  readonly text: Buffer | Readable

  constructor(text: Buffer | Readable) {
    this.text = text
  }
}
