import type { Migration } from 'kysely/migration'

import { up as relay } from './0001-relay.ts'

/** In order. A landed migration is frozen; the next change is the next number. */
export const MIGRATIONS: Record<string, Migration> = {
  '0001-relay': { up: relay },
}
