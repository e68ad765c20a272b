import { expect, test } from 'vitest'

import { beginDrain, endDrains } from '../../core/db/events/ingest/spool.ts'
import { firstIdAt } from '../../core/ids.ts'
import { startRelay } from '../kit/relay.ts'

test('the end of a drain ends no drain of another share, which another process still does', async () => {
  await using relay = await startRelay({ worker: false })
  const { db } = relay.deps
  const nowMs = Date.now()
  for (const share of ['spool.1', 'spool.1', 'spool.2']) {
    await beginDrain(db, { share, oldestId: firstIdAt(nowMs), nowMs })
  }
  await endDrains(db, 'spool.1', nowMs)
  const { rows } = await relay.pool.query(
    'select share, until_transaction is null as "isOpen" from spool_drain order by id',
  )
  expect(rows).toEqual([
    { share: 'spool.1', isOpen: false },
    { share: 'spool.1', isOpen: false },
    { share: 'spool.2', isOpen: true },
  ])
})
