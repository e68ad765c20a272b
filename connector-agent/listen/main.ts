#!/usr/bin/env node
import { z } from 'zod'

import { plainText } from '../../core/this-machine/plain-text.ts'
import { wordsOf } from './api.ts'
import { listen } from './listen.ts'
import { readListenOptions } from './options.ts'
import { LISTEN_USAGE } from './usage.ts'

const stop = new AbortController()
// A second signal does not wait for what is in flight.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => (stop.signal.aborted ? process.exit(1) : stop.abort()))
}
// Whoever read our output may go away.
process.stdout.on('error', () => stop.abort())

const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) {
  process.stdout.write(LISTEN_USAGE)
} else {
  try {
    await listen(readListenOptions(args), process.env, stop)
    process.exit(0)
  } catch (error) {
    if (stop.signal.aborted) process.exit(0)
    const isStrange = error instanceof z.ZodError
    const words = isStrange
      ? 'The relay answers in a form that this version does not know: check POSTERN_URL'
      : wordsOf(error)
    process.stderr.write(`${plainText(words, { keepsLines: true })}\n`)
    // Whatever is under way still is nobody's.
    process.exit(1)
  }
}
