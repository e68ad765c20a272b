import { useQuery } from '@tanstack/react-query'

import { callAuth, type AuditEntry } from '../../api/auth.ts'
import { counted } from '../../parts/words/numbers.ts'
import { useOrganisationPath } from '../../session/organisation.ts'
import { useProject } from '../../session/project.tsx'

/** Changes of these can be why deliveries fail, or why they do no more. */
const KINDS = new Set(['source', 'destination', 'connection', 'connector'])
const SHOWN = 3

/** The newest changes of the configuration, for those who may read the audit. */
export function useChanges(): readonly AuditEntry[] {
  const { projectId, mayAll } = useProject()
  const path = useOrganisationPath()
  const { data } = useQuery({
    queryKey: [path, 'audit', 'newest'],
    queryFn: () => callAuth<{ data: AuditEntry[] }>('GET', `${path}/audit?limit=100`),
    enabled: mayAll,
    staleTime: 30_000,
  })
  return (data?.data ?? []).filter(
    (entry) => entry.projectId === projectId && KINDS.has(entry.subjectKind),
  )
}

/** The changes of a span of time in words; undefined when there was none. */
export function changesIn(
  changes: readonly AuditEntry[],
  fromMs: number,
  toMs: number,
): string | undefined {
  const within = changes.filter(({ at }) => Date.parse(at) >= fromMs && Date.parse(at) < toMs)
  if (within.length === 0) return undefined
  const named = within.slice(0, SHOWN).map(({ action, actorName, actor }) => {
    const did = action.replace('.', ' ').replaceAll(/[-_]/g, ' ')
    return `${did} by ${actorName ?? actor}`
  })
  const more = within.length > SHOWN ? ', …' : ''
  return `${counted(within.length, 'change')} (${named.join(', ')}${more})`
}
