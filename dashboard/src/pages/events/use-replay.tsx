import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'

import { Confirm } from '../../parts/dialog.tsx'
import { toast } from '../../parts/toast.tsx'
import { counted } from '../../parts/words/numbers.ts'
import { useProject } from '../../session/project.tsx'

/** Asks, replays, and leads to the new delivery: nobody should have to look for it. */
export function useReplay(): readonly [(eventId: string) => void, ReactNode] {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const [asked, setAsked] = useState<string | null>(null)
  const replay = async (eventId: string) => {
    const { deliveries } = await api.replayEvent({ id: eventId })
    void client.invalidateQueries({ queryKey: [projectId] })
    const [first] = deliveries
    toast(
      deliveries.length === 0
        ? 'No enabled connection matches the event, so that nothing was sent'
        : `Replayed: ${counted(deliveries.length, 'new delivery', 'new deliveries')}`,
      first === undefined ? undefined : (
        <Link
          className="button"
          to="/p/$projectId/deliveries/$deliveryId"
          params={{ projectId, deliveryId: first.id }}
        >
          Show it
        </Link>
      ),
    )
  }
  const dialog =
    asked === null ? null : (
      <Confirm
        title="Replay this event?"
        action="Replay"
        onClose={() => setAsked(null)}
        run={() => replay(asked)}
      >
        <p>
          Every enabled connection whose filter matches gets a new delivery. They count against the
          quota.
        </p>
      </Confirm>
    )
  return [setAsked, dialog]
}
