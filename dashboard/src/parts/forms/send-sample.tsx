import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { callJson } from '../../api/auth.ts'
import type { Schemas } from '../../api/client.ts'
import { useProject } from '../../session/project.tsx'
import { ActionFault } from '../states.tsx'
import { shortId } from '../words/numbers.ts'
import { useAction } from './form.tsx'

/** Has the relay send a webhook to a source, signed with its secret, the way that every webhook comes. */
export function SendSample({ source }: { source: Schemas['Source'] }) {
  const { projectId } = useProject()
  const path = `/app/api/${projectId}/sources/${source.id}/sample`
  const { data } = useQuery({
    queryKey: [projectId, 'sample-of', source.id, source.updatedAt],
    queryFn: () => callJson<{ obstacle: string | null }>('GET', path),
  })
  const send = useAction(() => callJson<{ eventId: string }>('POST', path))
  const isAllowed = data?.obstacle === null && !send.isRunning
  const eventId = send.result?.eventId
  return (
    <>
      <ActionFault error={send.error} />
      <div className="buttons">
        <button
          type="button"
          className="button"
          aria-disabled={!isAllowed}
          onClick={() => isAllowed && send.run()}
        >
          {send.isRunning ? 'Sending…' : 'Send a sample for me'}
        </button>
        {typeof data?.obstacle === 'string' && <span className="muted">{data.obstacle}.</span>}
        {eventId !== undefined && (
          <span role="status">
            Sent:{' '}
            <Link to="/p/$projectId/events/$eventId" params={{ projectId, eventId }}>
              {shortId(eventId)}
            </Link>
          </span>
        )}
      </div>
    </>
  )
}
