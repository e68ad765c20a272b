import { useQuery, useQueryClient } from '@tanstack/react-query'

import {
  callAlerts,
  type AlertEndpoint,
  type AlertList,
  type AlertMails,
} from '../../api/alerts.ts'
import { useProject } from '../../session/project.tsx'

const EVERY_MS = 15_000

export function useAlerts(state: 'open' | 'closed') {
  const { projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'alerts', state],
    queryFn: () => callAlerts<AlertList>(projectId, 'GET', `?state=${state}&limit=50`),
    refetchInterval: EVERY_MS,
  })
}

export function useAlertEndpoint() {
  const { projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'alerts', 'endpoint'],
    queryFn: () =>
      callAlerts<{ endpoint: AlertEndpoint | null }>(projectId, 'GET', '/endpoint').then(
        ({ endpoint }) => endpoint,
      ),
  })
}

export function useAlertMails() {
  const { projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'alerts', 'mails'],
    queryFn: () => callAlerts<AlertMails>(projectId, 'GET', '/mails'),
  })
}

/** Reads all of them again. */
export function useAlertsAgain(): () => Promise<void> {
  const { projectId } = useProject()
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: [projectId, 'alerts'] })
}

interface Kinds {
  endpoint: AlertEndpoint | null
  mails: AlertMails
}

/** For when one of them was saved: the page has it at once, as `useSaved` has it for resources. */
export function useAlertsSaved() {
  const { projectId } = useProject()
  const client = useQueryClient()
  const again = useAlertsAgain()
  return <K extends keyof Kinds>(kind: K, saved: Kinds[K]) => {
    client.setQueryData([projectId, 'alerts', kind], saved)
    void again()
  }
}
