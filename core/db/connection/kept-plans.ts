import { createHash } from 'node:crypto'

import { sql } from 'kysely'
import type pg from 'pg'

const MARK = '/* kept */ '

/** Begins a statement whose plan is worth keeping. Its text should hold few values: each makes another text of it. */
export const KEPT = sql.raw(MARK)

/** Cached plans of a pool; a plan over 150 days takes 2 MB in each connection. Further plans are not cached. */
export const KEPT_TEXTS_MAX = 24

/**
 * Caches one plan, for any values, of each statement that begins with `KEPT`: over 150 days it then takes 2.4 ms instead of
 * 18 for planning. Use it only where known values would give the same plan. PostgreSQL by itself would plan each time:
 * with unknown bounds the planner assumes that a range matches a third of the table.
 */
export function keepPlans(pool: pg.Pool): void {
  const names = new Map<string, string>()
  const nameOf = (text: string): string | undefined => {
    if (!names.has(text) && names.size < KEPT_TEXTS_MAX) names.set(text, `kept_${hashOf(text)}`)
    return names.get(text)
  }
  pool.on('connect', (client) => {
    const query = client.query.bind(client)
    const ask = (...args: unknown[]): unknown => Reflect.apply(query, undefined, args)
    const askByName = async (name: string, text: string, values: unknown): Promise<unknown> => {
      await ask('set plan_cache_mode = force_generic_plan')
      try {
        return await ask({ name, text, values })
      } finally {
        await ask('reset plan_cache_mode')
      }
    }
    const keeping = (...args: unknown[]): unknown => {
      const [text, values, ...callback] = args
      const isKept = typeof text === 'string' && text.startsWith(MARK) && callback.length === 0
      const name = isKept ? nameOf(text) : undefined
      return isKept && name !== undefined ? askByName(name, text, values) : ask(...args)
    }
    Object.assign(client, { query: keeping })
  })
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
