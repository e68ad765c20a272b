import { useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'

import { Confirm } from '../../parts/dialog.tsx'
import { toast } from '../../parts/toast.tsx'
import { useProject } from '../../session/project.tsx'

/** Asks, then makes an extra attempt. */
export function useRetry(): readonly [(deliveryId: string) => void, ReactNode] {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const [asked, setAsked] = useState<string | null>(null)
  const retry = async (id: string) => {
    await api.retryDelivery({ id })
    toast('An extra attempt is on its way')
    await client.invalidateQueries({ queryKey: [projectId] })
  }
  const dialog =
    asked === null ? null : (
      <Confirm
        title="Retry this delivery now?"
        action="Retry"
        onClose={() => setAsked(null)}
        run={() => retry(asked)}
      >
        <p>An extra attempt is made at once. The schedule of a pending delivery stays.</p>
      </Confirm>
    )
  return [setAsked, dialog]
}
