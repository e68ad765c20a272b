import fc from 'fast-check'
import { expect, test } from 'vitest'

import { bytesOfUuid } from '../ids.ts'
import { partitionOf } from './partition-of.ts'

const PARTITIONS = 64
const SPREAD = 8

// Messages and waiting rows keep the partition that they were given: it must not change with a version.
test('partitionOf() is the remainder of the last four bytes: of the organisation when paced, of the destination in its eight', () => {
  const tail = (id: string): number => bytesOfUuid(id).readUInt32BE(12)
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (organisationId, destinationId) => {
      const home = tail(organisationId) % PARTITIONS
      expect(partitionOf(organisationId, destinationId, true)).toBe(home)
      expect(partitionOf(organisationId, destinationId, false)).toBe(
        home - (home % SPREAD) + (tail(destinationId) % SPREAD),
      )
    }),
  )
})
