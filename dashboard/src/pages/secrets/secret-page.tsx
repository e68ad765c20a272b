import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'

import { callAuth, type Agent, type Key } from '../../api/auth.ts'
import { ActionTable } from '../../parts/lists/action-table.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { useOrganisationPath } from '../../session/organisation.ts'

/** Secrets that let programs in, by the word of their kind in paths. */
export interface Secrets {
  key: Key
  agent: Agent
}

export function useSecrets<K extends keyof Secrets>(kind: K) {
  const path = useOrganisationPath()
  return useQuery({
    queryKey: [path, `${kind}s`],
    queryFn: () =>
      callAuth<{ data: Secrets[K][] }>('GET', `${path}/${kind}s`).then(({ data }) => data),
  })
}

/** The page of a kind: its secrets, of which none is shown, and the dialog that makes one. */
export function SecretPage<K extends keyof Secrets>({
  kind,
  column,
  about,
  advice,
  dialog,
  row,
}: {
  kind: K
  /** Heads the column that only this kind has. */
  column: string
  about: ReactNode
  /** Stands where there is none yet. */
  advice: string
  dialog: (onClose: () => void) => ReactNode
  row: (secret: Secrets[K]) => ReactNode
}) {
  const [isMaking, setMaking] = useState(false)
  const secrets = useSecrets(kind)
  const name = kind === 'key' ? 'Key' : 'Agent'
  return (
    <>
      <header>
        <PageTitle>{name}s</PageTitle>
        <div className="buttons">
          <button type="button" className="button main" onClick={() => setMaking(true)}>
            New {kind}
          </button>
        </div>
      </header>
      <p className="muted">{about}</p>
      {isMaking && dialog(() => setMaking(false))}
      <Loaded query={secrets} noun="The list">
        {(data) =>
          data.length === 0 ? (
            <Empty title={`No ${kind} yet`}>
              <p>{advice}</p>
            </Empty>
          ) : (
            <ActionTable columns={[name, column, 'Project', 'Expires', 'Last used']}>
              {data.map(row)}
            </ActionTable>
          )
        }
      </Loaded>
    </>
  )
}
