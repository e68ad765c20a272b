import { pino, type DestinationStream, type Logger } from 'pino'

export type { Logger }

/** Lines are gathered up to this size: one write a line costs more than the line (a line an event, thousands a second). */
const BUFFER_BYTES = 8 * 1024
const FLUSH_MS = 500

/** Logs each entry as a line of JSON on stdout. Secrets and bodies are cut out one and two levels deep. */
export function openLog(level: string, role: string): Logger {
  return pino(
    {
      level,
      base: { role },
      formatters: { level: (label) => ({ level: label }) },
      timestamp,
      redact: ['authorization', 'secret', 'token', 'apiKey', 'raw', 'password'].flatMap((name) => [
        name,
        `*.${name}`,
      ]),
    },
    openStdout(),
  )
}

/** Gathers bytes: of text, sonic-boom measures all that it has with each line, for which V8 copies it (7 KB a line). */
function openStdout(): DestinationStream {
  const opened: unknown = pino.destination({
    dest: 1,
    sync: false,
    minLength: BUFFER_BYTES,
    periodicFlush: FLUSH_MS,
    contentMode: 'buffer',
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- in this mode it takes what its types do not name
  const stdout = opened as { write(line: Buffer): boolean }
  return { write: (line) => stdout.write(Buffer.from(line)) }
}

let secondMs = 0
let second = ''

/** The text of a second is made once: for each line it would be a fifth of what a line takes. */
function timestamp(): string {
  const nowMs = Date.now()
  const ms = nowMs % 1_000
  if (nowMs - ms !== secondMs) {
    secondMs = nowMs - ms
    second = `,"time":"${new Date(secondMs).toISOString().slice(0, -'000Z'.length)}`
  }
  return `${second}${ms < 100 ? (ms < 10 ? '00' : '0') : ''}${ms}Z"`
}

/** A time for a line: a microsecond is as much as anybody reads. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

/** For lines that come thousands a second and hold ids and figures only: looking for secrets costs 5 % of a role's time. */
export function withoutRedaction(log: Logger): Logger {
  return log.child({}, { redact: [] })
}
