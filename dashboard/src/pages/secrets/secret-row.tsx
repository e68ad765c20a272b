import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { callAuth } from '../../api/auth.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { shortId } from '../../parts/words/numbers.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useOrganisationPath } from '../../session/organisation.ts'
import { useReach } from '../../session/session.ts'
import type { Secrets } from './secret-page.tsx'

/** A row of a `SecretPage`. */
export function SecretRow({
  kind,
  secret,
  hint,
  column,
  cell,
  noProject,
  mayChange,
  warning,
  children,
}: {
  kind: keyof Secrets
  secret: Secrets[keyof Secrets]
  /** The part of its text that may be shown. */
  hint: string
  column: string
  cell: string
  /** Stands where it has no project. */
  noProject: ReactNode
  mayChange: boolean
  warning: string
  /** Actions before that of revoking. */
  children?: ReactNode
}) {
  const path = useOrganisationPath()
  const client = useQueryClient()
  const reach = useReach()
  const { id, name, projectId, expiresAt, lastUsedAt, lastUsedFrom, revokedAt } = secret
  const project = reach?.find((each) => each.project.id === projectId)?.project.name
  const isDead = revokedAt !== null
  return (
    <tr className={isDead ? 'dim' : undefined}>
      <td>
        {name} <code className="muted">{hint}</code> {isDead && <StatusMark status="revoked" />}
      </td>
      <td data-label={column}>{cell}</td>
      <td data-label="Project">
        {projectId === null ? noProject : (project ?? shortId(projectId))}
      </td>
      <td data-label="Expires">{expiresAt === null ? 'never' : <Time at={expiresAt} withAge />}</td>
      <td data-label="Last used">
        {lastUsedAt === null ? (
          <span className="muted">never</span>
        ) : (
          <span>
            <Time at={lastUsedAt} withAge />
            {lastUsedFrom !== null && (
              <>
                {' '}
                <span className="whole">
                  from <code>{lastUsedFrom}</code>
                </span>
              </>
            )}
          </span>
        )}
      </td>
      <td>
        {!isDead && (
          <span className="buttons">
            {children}
            <DangerAction
              name="Revoke…"
              title={`Revoke ${name}?`}
              action="Revoke"
              isAllowed={mayChange}
              run={async () => {
                await callAuth('DELETE', `${path}/${kind}s/${id}`)
                await client.invalidateQueries({ queryKey: [path, `${kind}s`] })
              }}
            >
              <p>{warning} This cannot be taken back.</p>
            </DangerAction>
          </span>
        )}
      </td>
    </tr>
  )
}
