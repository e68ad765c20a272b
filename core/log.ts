import { pino, type Logger } from 'pino'

export type { Logger }

/** One JSON line an entry on stdout. Secrets and bodies are cut out wherever they sit one or two levels deep. */
export function openLog(level: string, role: string): Logger {
  return pino({
    level,
    base: { role },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    redact: ['authorization', 'secret', 'token', 'apiKey', 'raw', 'password'].flatMap((name) => [
      name,
      `*.${name}`,
    ]),
  })
}
