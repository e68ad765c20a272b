import { PosternError } from '../../clients/typescript/index.ts'
import { plainText } from '../../core/this-machine/plain-text.ts'
import type { Performed } from '../requests/perform.ts'
import { type Api, wordsOf } from './api.ts'
import { detailsOf, lineOf } from './lines.ts'
import type { ListenOptions } from './options.ts'
import type { Source } from './resources.ts'
import { SendAgain } from './send-again.ts'

interface ScreenDeps {
  options: ListenOptions
  source: Source
  api: Api
  print: (line: string) => void
}

/** The lines that a person reads. */
export class Screen {
  readonly #deps: ScreenDeps
  readonly #again: SendAgain
  #last: string | undefined
  #isFailuresOnly = false

  constructor(deps: ScreenDeps) {
    this.#deps = deps
    this.#again = new SendAgain({
      target: deps.options.target,
      print: deps.print,
      retry: async (id) => await this.#retry(id),
    })
  }

  begin(): void {
    const { options, source } = this.#deps
    const verified = source.verifier.preset ?? source.verifier.type
    this.#deps.print(`
Webhooks for ${options.target.href}
  Post them to  ${plainText(source.ingestUrl)}
  Source        ${plainText(`${source.name}, verified as: ${verified}`)}
  Events        ${options.events.length === 0 ? 'all' : options.events.join(', ')}

Keys: r sends the last one again, f shows only failures, q ends
`)
  }

  show(done: Performed): void {
    const hasColours = process.stdout.isTTY && process.stdout.hasColors()
    const { eventTypeField } = this.#deps.source
    const shown = lineOf(done, { eventTypeField, hasColours, now: new Date() })
    if (shown.deliveryId !== '-') this.#last = shown.deliveryId
    if (shown.isRefused) this.#again.add(shown.deliveryId)
    else this.#again.drop(shown.deliveryId)
    if (this.#isFailuresOnly && shown.isSuccess) return
    this.#deps.print(shown.line)
    if (this.#deps.options.isVerbose) this.#deps.print(detailsOf(done))
  }

  async replay(): Promise<void> {
    if (this.#last === undefined) this.#deps.print('Nothing has come that could be sent again')
    else await this.#retry(this.#last)
  }

  toggleFailures(): void {
    this.#isFailuresOnly = !this.#isFailuresOnly
    this.#deps.print(this.#isFailuresOnly ? 'Showing failures only' : 'Showing all')
  }

  [Symbol.dispose](): void {
    this.#again[Symbol.dispose]()
  }

  async #retry(deliveryId: string): Promise<void> {
    try {
      await this.#deps.api.retryDelivery({ id: deliveryId })
    } catch (error) {
      // It is on its way.
      if (error instanceof PosternError && error.code === 'CONFLICT') return
      this.#deps.print(plainText(`Cannot send ${deliveryId} again: ${wordsOf(error)}`))
    }
  }
}
