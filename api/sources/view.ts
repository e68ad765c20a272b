import { readSecretUsage } from '../../core/db/configuration/secret-usage.ts'
import type { ActiveSource } from '../../core/db/configuration/sources.ts'
import type { Deps } from '../deps.ts'
import { overlapEnd } from './rotation.ts'
import { viewSource } from './shape.ts'

type View = ReturnType<typeof viewSource>

export async function showSource(deps: Deps, row: ActiveSource): Promise<View> {
  const show = await sourceViewer(deps, [row])
  return show(row)
}

/** Shows each of `rows`, with how its secrets are used while a rotation is under way. */
export async function sourceViewer(
  { db, clock, ingestUrl, mailDomain }: Deps,
  rows: readonly ActiveSource[],
): Promise<(row: ActiveSource) => View> {
  const nowMs = clock.now()
  const rotations = rows.filter((row) => overlapEnd(row, nowMs) !== undefined)
  const ids = rotations.map(({ rotationId }) => rotationId).filter((id) => id !== null)
  const usage = await readSecretUsage(db, ids)
  return (row) => {
    const previousExpiresAt = overlapEnd(row, nowMs)
    const used = row.rotationId === null ? undefined : usage.get(row.rotationId)
    return viewSource(row, {
      ingestUrl,
      mailDomain,
      rotation: previousExpiresAt && { previousExpiresAt, used },
    })
  }
}
