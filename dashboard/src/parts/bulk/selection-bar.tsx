import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { PosternError, type Api } from '../../api/client.ts'
import { useProject } from '../../shell/project.tsx'
import { Confirm } from '../dialog.tsx'
import { toast } from '../toast.tsx'
import { counted } from '../words/numbers.ts'
import { KINDS, type Kind } from './kinds.ts'
import type { Selection } from './use-selection.ts'

/** Acts on the rows that are chosen by hand, each by its own request. */
export function SelectionBar({ selection, kind }: { selection: Selection; kind: Kind }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const { ids } = selection
  if (ids.length === 0) return null
  const { verb, noun, nouns, done } = KINDS[kind]
  const things = counted(ids.length, noun, nouns)
  const run = async () => {
    const refused: string[] = []
    for (const id of ids) {
      await actOn(api, kind, id).catch((error: unknown) => {
        if (!(error instanceof PosternError) || error.status === 401) throw error
        refused.push(error.message)
      })
    }
    selection.clear()
    void client.invalidateQueries({ queryKey: [projectId] })
    toast(
      refused.length === 0
        ? `${done} ${things}`
        : `${done} ${counted(ids.length - refused.length, noun, nouns)}; ${refused.length} refused: ${refused[0]}`,
    )
  }
  return (
    <div className="notice place">
      <span>{things} selected</span>
      <div className="buttons">
        <button type="button" className="button main" onClick={() => setAsking(true)}>
          {verb} selected…
        </button>
        <button type="button" className="button" onClick={selection.clear}>
          Select none
        </button>
      </div>
      {isAsking && (
        <Confirm
          title={`${verb} ${things}?`}
          action={verb}
          onClose={() => setAsking(false)}
          run={run}
        />
      )}
    </div>
  )
}

async function actOn(api: Api, kind: Kind, id: string): Promise<unknown> {
  switch (kind) {
    case 'replay':
      return await api.replayEvent({ id })
    case 'retry':
      return await api.retryDelivery({ id })
    case 'cancel':
      return await api.cancelDelivery({ id })
  }
}
