import { z } from 'zod'

import { setSourceRateLimit } from '../../../core/db/configuration/sources.ts'
import { refuseMissing } from '../../http/failure.ts'
import { idArgument, textArgument } from '../arguments.ts'
import type { Command } from '../command.ts'

const RateLimit = z.coerce.number().int().min(0).max(1_000_000)

const setRateLimit: Command = {
  positionals: ['src_…', 'requests per second'],
  options: [],
  help: {
    usage: '<src_…> <requests per second>',
    text: 'Changes what the API shows read-only as rateLimit; 0 is unlimited.',
    example: 'sources set-rate-limit src_01h455vb4pex5vsknk084sn02q 50',
  },
  read({ positionals: [id = '', limit] }) {
    const sourceId = idArgument('src', id)
    const rateLimit = textArgument('rate-limit', RateLimit, limit)
    return async ({ db, clock }) => {
      const now = new Date(clock.now())
      const isThere = await setSourceRateLimit(db, sourceId, rateLimit, now)
      return isThere ? { id, rateLimit } : refuseMissing('src', sourceId)
    }
  },
}

export const SOURCE_COMMANDS: Readonly<Record<string, Command>> = {
  'set-rate-limit': setRateLimit,
}
