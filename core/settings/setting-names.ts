import { SETTING_NAMES } from '../config.ts'
import type { Environment } from './setting-files.ts'

/** Set for a Service of that name by Kubernetes, in every pod beside it. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP)\w*)?)$/

/** OpenTelemetry's for metrics and logs, which other programs of the machine read. */
const OF_OTHER_SIGNALS = /^OTEL_(?:BLRP|LOGS|METRICS?|EXPORTER_OTLP_(?:LOGS|METRICS))_/

/** Shorter names are too near to what others call theirs: API_PORT and APP_PORT. */
const LENGTH_MIN = 9

/** Letters that may be wrong: more in a long name. */
function editsMax(name: string): number {
  return name.length < 15 ? 2 : 3
}

/** A line for each variable that looks like a setting and is none: nothing reads it. */
export function misspeltSettings(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => !isKnown(name))
    .flatMap((name) => {
      const near = nearest(name)
      if (near !== undefined) return `${name} is no setting and is not read: is it ${near}?`
      const isOurs = name.startsWith('POSTERN_') && !OF_KUBERNETES.test(name)
      return isOurs ? `${name} is no setting and is not read` : []
    })
}

function isKnown(name: string): boolean {
  const setting = name.replace(/_FILE$/, '')
  return (
    SETTING_NAMES.includes(name) || SETTING_NAMES.includes(setting) || OF_OTHER_SIGNALS.test(name)
  )
}

function nearest(name: string): string | undefined {
  const whole = name.toUpperCase()
  const texts = [whole, whole.replace(/^POSTERN_/, '')]
  return SETTING_NAMES.find((known) => texts.some((text) => isNear(text, known)))
}

function isNear(text: string, known: string): boolean {
  if (known.length < LENGTH_MIN) return text === known
  const max = editsMax(known)
  return Math.abs(text.length - known.length) <= max && edits(text, known) <= max
}

/** How many letters to change, add or leave out to make one word of another. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (const [index, letter] of from.split('').entries()) {
    const next = [index + 1]
    for (const [at, other] of to.split('').entries()) {
      const swap = (row[at] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(swap, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
