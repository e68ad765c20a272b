import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { callAuth, type Key } from '../../api/auth.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { shortId } from '../../parts/words/numbers.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { OWNERS_ONLY, useProject } from '../../shell/project.tsx'
import { useReach, useSession } from '../../shell/session.ts'
import { useOrganisationPath } from '../members/queries.ts'
import { NewKey } from './new-key.tsx'
import { permissionWords } from './permissions.tsx'
import { RescopeDialog } from './rescope-dialog.tsx'

export function Keys() {
  const { mayAll } = useProject()
  const path = useOrganisationPath()
  const [isMaking, setMaking] = useState(false)
  const keys = useQuery({
    queryKey: [path, 'keys'],
    queryFn: () => callAuth<{ data: Key[] }>('GET', `${path}/keys`).then(({ data }) => data),
  })
  return (
    <>
      <header>
        <h1>Keys</h1>
        <div className="buttons">
          <button type="button" className="button main" onClick={() => setMaking(true)}>
            New key
          </button>
        </div>
      </header>
      <p className="muted">
        A key is for a program that calls the API under <code>/v1</code>.{' '}
        {!mayAll && 'A key that you make never may more than you.'}
      </p>
      {isMaking && <NewKey onClose={() => setMaking(false)} />}
      <Loaded query={keys} noun="The list">
        {(data) =>
          data.length === 0 ? (
            <Empty title="No key yet">
              <p>Make one for each program, with what it needs and no more.</p>
            </Empty>
          ) : (
            <table className="table cards">
              <thead>
                <tr>
                  <th>Key</th>
                  <th>May</th>
                  <th>Project</th>
                  <th>Expires</th>
                  <th>Last used</th>
                  <th>
                    <span className="unseen">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((key) => (
                  <KeyRow key={key.id} apiKey={key} />
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </>
  )
}

function KeyRow({ apiKey }: { apiKey: Key }) {
  const { mayAll } = useProject()
  const { user } = useSession()
  const path = useOrganisationPath()
  const client = useQueryClient()
  const reach = useReach()
  const [isOpen, setOpen] = useState(false)
  const bound = reach?.find(({ project }) => project.id === apiKey.projectId)?.project.name
  const mayChange = mayAll || apiKey.createdBy === user.id
  const isDead = apiKey.revokedAt !== null
  return (
    <tr className={isDead ? 'dim' : undefined}>
      <td>
        {apiKey.name} <code className="muted">{apiKey.secretHint}</code>{' '}
        {apiKey.revokedAt !== null && <StatusMark status="revoked" />}
      </td>
      <td data-label="May">{permissionWords(apiKey.permissions)}</td>
      <td data-label="Project">
        {apiKey.projectId === null ? 'any' : (bound ?? shortId(apiKey.projectId))}
      </td>
      <td data-label="Expires">
        {apiKey.expiresAt === null ? 'never' : <Time at={apiKey.expiresAt} withAge />}
      </td>
      <td data-label="Last used">
        {apiKey.lastUsedAt === null ? (
          <span className="muted">never</span>
        ) : (
          <Time at={apiKey.lastUsedAt} withAge />
        )}
      </td>
      <td>
        {!isDead && (
          <span className="buttons">
            <button
              type="button"
              className="button"
              aria-disabled={!mayChange}
              title={mayChange ? undefined : OWNERS_ONLY}
              onClick={() => mayChange && setOpen(true)}
            >
              Rescope…
            </button>
            <DangerAction
              name="Revoke…"
              title={`Revoke ${apiKey.name}?`}
              action="Revoke"
              isAllowed={mayChange}
              run={async () => {
                await callAuth('DELETE', `${path}/keys/${apiKey.id}`)
                await client.invalidateQueries({ queryKey: [path, 'keys'] })
              }}
            >
              <p>The next request with this key is refused. This cannot be taken back.</p>
            </DangerAction>
          </span>
        )}
        {isOpen && <RescopeDialog apiKey={apiKey} onClose={() => setOpen(false)} />}
      </td>
    </tr>
  )
}
