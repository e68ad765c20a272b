import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import type { Api } from '../../api/client.ts'
import { PosternError } from '../../api/reach.ts'
import { useProject } from '../../session/project.tsx'
import { Confirm } from '../dialog.tsx'
import { toast } from '../toast.tsx'
import { counted } from '../words/numbers.ts'
import { KINDS, type Kind } from './kinds.ts'
import type { Selection } from './use-selection.ts'

/** Acts on the rows that are chosen by hand, each by its own request. */
export function SelectionBar({
  selection,
  kinds,
}: {
  selection: Selection
  kinds: readonly [Kind, ...Kind[]]
}) {
  const [asked, setAsked] = useState<Kind | null>(null)
  const { ids } = selection
  if (ids.length === 0) return null
  const { noun, nouns } = KINDS[kinds[0]]
  return (
    <div className="notice place stays">
      <span>{counted(ids.length, noun, nouns)} selected</span>
      <div className="buttons">
        {kinds.map((kind, index) => (
          <button
            key={kind}
            type="button"
            className={index === 0 ? 'button main' : 'button'}
            onClick={() => setAsked(kind)}
          >
            {KINDS[kind].verb} selected…
          </button>
        ))}
        <button type="button" className="button" onClick={selection.clear}>
          Select none
        </button>
      </div>
      {asked !== null && <Ask selection={selection} kind={asked} onClose={() => setAsked(null)} />}
    </div>
  )
}

function Ask({
  selection: { ids, clear },
  kind,
  onClose,
}: {
  selection: Selection
  kind: Kind
  onClose: () => void
}) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
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
    clear()
    void client.invalidateQueries({ queryKey: [projectId] })
    toast(
      refused.length === 0
        ? `${done} ${things}`
        : `${done} ${counted(ids.length - refused.length, noun, nouns)}; ${refused.length} refused: ${refused[0]}`,
    )
  }
  return (
    <Confirm
      title={`${verb} ${things}?`}
      action={kind === 'cancel' ? `Cancel ${things}` : verb}
      isDanger={kind === 'cancel'}
      onClose={onClose}
      run={run}
    />
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
