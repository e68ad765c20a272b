import { useState } from 'react'

export interface Selection {
  ids: readonly string[]
  has: (id: string) => boolean
  toggle: (id: string) => void
  clear: () => void
}

/** Rows that are chosen by hand; a row that has left the list is not chosen any more. */
export function useSelection(rows: readonly { id: string }[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const ids = rows.map(({ id }) => id).filter((id) => chosen.has(id))
  return {
    ids,
    has: (id) => chosen.has(id),
    toggle: (id) =>
      setChosen((before) => {
        const next = new Set(before)
        if (!next.delete(id)) next.add(id)
        return next
      }),
    clear: () => setChosen(new Set()),
  }
}
