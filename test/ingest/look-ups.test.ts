import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ConfigChange } from '../../core/notices/config-changes.ts'
import { Sources } from '../../dataplane/ingest/accept/sources.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

/** Looks a source up while `arrives` becomes known. Returns how many statements that took. */
async function statementsBeside(maskId: string, arrives: readonly ConfigChange[]): Promise<number> {
  let statements = 0
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      statements += 1
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const sources = new Sources({ ...world.deps, db: world.db.withPlugin(counter) })
  const found = sources.get(maskId)
  sources.forget(arrives)
  expect(await found).toBeDefined()
  return statements
}

async function maskOf(sourceId: string): Promise<string> {
  const answer = await world.api('GET', `/v1/sources/${sourceId}`, undefined, { key: world.key })
  return String(answer.body.maskId)
}

test('a change restarts the look-ups of sources that it concerns, and no others', async () => {
  const one = await seedRoute(world, 'one')
  const other = await seedRoute(world, 'other')
  const mask = await maskOf(one.sourceId)
  const alone = await statementsBeside(mask, [])
  const changes = (kind: ConfigChange['kind'], id: string): readonly ConfigChange[] => [
    { kind, id },
  ]
  const elsewhere = [
    changes('source', uuid('src', other.sourceId)),
    changes('destination', uuid('dst', other.destinationId)),
    changes('organisation', crypto.randomUUID()),
  ].flat()
  expect(await statementsBeside(mask, elsewhere)).toBe(alone)
  const here = [
    changes('source', uuid('src', one.sourceId)),
    changes('destination', uuid('dst', one.destinationId)),
    changes('organisation', uuid('org', world.organisationId)),
  ]
  for (const change of here) {
    expect(await statementsBeside(mask, change), change[0]?.kind).toBeGreaterThan(alone)
  }
})
