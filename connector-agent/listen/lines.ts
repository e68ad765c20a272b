import { compileSelector, readSelector } from '../../core/match/selector.ts'
import { joinHeaders } from '../../core/request/headers.ts'
import { Parsed } from '../../core/request/parsed.ts'
import { plainText } from '../../core/this-machine/plain-text.ts'
import type { Performed } from '../requests/perform.ts'

const BODY_SHOWN_MAX = 10_000
const TYPE_WIDTH = 24
const STATUS_WIDTH = 4

/** A delivery as a person sees it. */
export interface Shown {
  deliveryId: string
  isSuccess: boolean
  /** Nobody listened at the local server: it is tried again when somebody does. */
  isRefused: boolean
  line: string
}

interface LineOptions {
  /** The selector of the source for the type of an event; null when it has none. */
  eventTypeField: string | null
  hasColours: boolean
  now: Date
}

/** The line of a delivery: time, type, status, duration, id; for one without an answer why there is none. */
export function lineOf(done: Performed, options: LineOptions): Shown {
  const { head, answer, durationMs } = done
  const headers = joinHeaders(head.headers)
  const deliveryId = headers['postern-delivery-id'] ?? headers['webhook-id'] ?? '-'
  const time = options.now.toTimeString().slice(0, 'HH:MM:SS'.length)
  const type = plainText(typeOf(done, options.eventTypeField) ?? '-').padEnd(TYPE_WIDTH)
  const took = `${Math.round(durationMs)} ms`.padStart('12345 ms'.length)
  const id = plainText(deliveryId)
  if (answer.kind === 'response') {
    const { status } = answer.head
    const isSuccess = status >= 200 && status < 300
    const shown = String(status).padEnd(STATUS_WIDTH)
    const coloured = paint(shown, isSuccess ? GREEN : RED, options.hasColours)
    return {
      deliveryId,
      isSuccess,
      isRefused: false,
      line: `${time}  ${type}  ${coloured}  ${took}  ${id}`,
    }
  }
  const { code, message } = answer.failure
  const isRefused = code === 'connection_refused'
  const then = isRefused ? '; it is sent again when your server runs' : ''
  const why = paint(`not delivered: ${plainText(message)}${then}`, RED, options.hasColours)
  return {
    deliveryId,
    isSuccess: false,
    isRefused,
    line: `${time}  ${type}  ${'-'.padEnd(STATUS_WIDTH)}  ${took}  ${id}  ${why}`,
  }
}

/** Headers and bodies of both sides, indented. */
export function detailsOf({ head, answer, body }: Performed): string {
  const sent = [
    ...head.headers.map(([name, value]) => `${name}: ${value}`),
    '',
    body === undefined ? `(${head.bodyBytes} bytes)` : textOf(body),
  ]
  const received =
    answer.kind === 'response'
      ? [
          ...answer.head.headers.map(([name, value]) => `${name}: ${value}`),
          '',
          textOf(Buffer.from(answer.body)),
        ]
      : []
  return [...indented('  > ', sent), ...indented('  < ', received)].join('\n')
}

const GREEN = '32'
const RED = '31'

function paint(text: string, colour: string, hasColours: boolean): string {
  return hasColours ? `\u001B[${colour}m${text}\u001B[0m` : text
}

/** As the source reads it. */
function typeOf({ head, body }: Performed, selector: string | null): string | undefined {
  if (selector === null) return undefined
  const request = new Parsed({
    headers: joinHeaders(head.headers),
    query: '',
    body: body ?? Buffer.alloc(0),
  })
  try {
    return readSelector(compileSelector(selector), request)
  } catch {
    return undefined
  }
}

function textOf(body: Buffer): string {
  const text = body.toString('utf8')
  return text.length <= BODY_SHOWN_MAX ? text : `${text.slice(0, BODY_SHOWN_MAX)} …`
}

function indented(mark: string, parts: readonly string[]): string[] {
  return parts
    .join('\n')
    .trimEnd()
    .split('\n')
    .filter((_line, at, lines) => lines.length > 1 || lines[at] !== '')
    .map((line) => `${mark}${plainText(line.replaceAll('\t', '  ').replace(/\r$/, ''))}`.trimEnd())
}
