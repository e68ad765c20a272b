import { createHash } from 'node:crypto'

import { PARTITIONS } from '../../core/limits.ts'

/**
 * The partitions that are one worker's among all that live, by rendezvous hashing: every worker computes the same, and
 * one that comes or goes moves no partition between two others.
 */
export function shareOf(name: string, members: readonly string[]): number[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => partition).filter(
    (partition) => ownerOf(partition, members) === name,
  )
}

function ownerOf(partition: number, members: readonly string[]): string | undefined {
  let owner: string | undefined
  let highest = ''
  for (const name of members) {
    const score = createHash('sha256').update(`${partition} ${name}`).digest('hex')
    if (score <= highest) continue
    highest = score
    owner = name
  }
  return owner
}
