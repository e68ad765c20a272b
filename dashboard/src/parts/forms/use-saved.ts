import { useQueryClient } from '@tanstack/react-query'

import type { Session } from '../../api/auth.ts'
import type { Schemas } from '../../api/client.ts'
import { useProject } from '../../session/project.tsx'
import { sessionQuery } from '../../session/session.ts'
import { toast } from '../toast.tsx'

interface Kinds {
  source: Schemas['Source']
  destination: Schemas['Destination']
  connection: Schemas['Connection']
  connector: Schemas['Connector']
}

/**
 * For when a resource was saved. Its page has it at once: a form begins anew with what it is given, and an answer that came
 * later would take away what was written meanwhile.
 */
export function useSaved<K extends keyof Kinds>(kind: K) {
  const { projectId } = useProject()
  const client = useQueryClient()
  return (saved: Kinds[K], words = 'Saved') => {
    client.setQueryData([projectId, kind, saved.id], saved)
    toast(words)
    void client.invalidateQueries({ queryKey: [projectId] })
  }
}

/** The same for a person and their organisations. */
export function useSessionSaved() {
  const client = useQueryClient()
  return (change: (session: Session) => Session) => {
    client.setQueryData(sessionQuery.queryKey, (session) => session && change(session))
    toast('Saved')
    void client.invalidateQueries(sessionQuery)
  }
}
