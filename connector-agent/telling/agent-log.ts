import { pino } from 'pino'

import type { Logger } from '../../core/log.ts'
import { plainText } from '../../core/this-machine/plain-text.ts'
import type { Performed } from '../requests/perform.ts'

/** JSON, one line an entry; for a person at a terminal the time and the sentence. Written at once: there are few. */
export function openAgentLog(level: string, isForPerson: boolean): Logger {
  const write = (line: string): void => {
    process.stdout.write(isForPerson ? plain(line) : line)
  }
  return pino(
    {
      level,
      base: { role: 'connector' },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    { write },
  )
}

function plain(line: string): string {
  const { level, time, msg }: Record<string, unknown> = JSON.parse(line)
  const clock = new Date(String(time)).toTimeString().slice(0, 'HH:MM:SS'.length)
  const mark = level === 'info' ? '' : `${String(level)}: `
  // The relay, a gateway and destinations have words in it.
  return `${clock} ${mark}${plainText(String(msg))}\n`
}

export function logRequest(log: Logger, { head, answer, durationMs }: Performed): void {
  const ms = Math.round(durationMs)
  const { attemptId } = head
  if (answer.kind === 'response') {
    return log.debug({ attemptId, status: answer.head.status, ms }, 'Made a request')
  }
  const { code, message } = answer.failure
  log.warn({ attemptId, code, ms }, `A request was not answered: ${message}`)
}
