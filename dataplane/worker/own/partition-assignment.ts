import { createHash } from 'node:crypto'

import { PARTITION_SPREAD, PARTITIONS } from '../../../core/limits.ts'

/**
 * The partitions of one worker among all live workers. Every worker computes the same. Workers share each group of
 * neighbours, over which an organisation is spread, in equal numbers or one more; rendezvous hashing decides who gets
 * which, so that a worker that starts or stops moves few partitions between others.
 */
export function shareOf(name: string, members: readonly string[]): number[] {
  const share: number[] = []
  for (let first = 0; first < PARTITIONS; first += PARTITION_SPREAD) {
    for (const [partition, owner] of ownersFrom(first, members)) {
      if (owner === name) share.push(partition)
    }
  }
  return share.toSorted((a, b) => a - b)
}

function ownersFrom(first: number, members: readonly string[]): Map<number, string> {
  const neighbours = Array.from({ length: PARTITION_SPREAD }, (_, n) => first + n)
  const bids = neighbours
    .flatMap((partition) => members.map((member) => bidOf(partition, member)))
    .toSorted((a, b) => (a.score < b.score ? 1 : -1))
  const owners = new Map<number, string>()
  const counts = new Map<string, number>()
  const each = Math.floor(PARTITION_SPREAD / members.length)
  for (const most of [each, each + 1]) {
    for (const { partition, member } of bids) {
      const count = counts.get(member) ?? 0
      if (owners.has(partition) || count >= most) continue
      owners.set(partition, member)
      counts.set(member, count + 1)
    }
  }
  return owners
}

function bidOf(partition: number, member: string) {
  const score = createHash('sha256').update(`${partition} ${member}`).digest('hex')
  return { partition, member, score }
}
