import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'

import type { Schemas } from '../../api/client.ts'
import { useLiveTail } from '../../live/use-live-tail.ts'
import { SendSample } from '../../parts/forms/send-sample.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Command, CopyButton } from '../../parts/words/copy.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'
import { sampleCommand } from './sample.ts'
import { secretOf } from './secrets.ts'

export function Wait({ sourceId }: { sourceId: string }) {
  const { api, projectId } = useProject()
  const source = useQuery({
    queryKey: [projectId, 'source', sourceId],
    queryFn: () => api.getSource({ id: sourceId }),
  })
  return (
    <Loaded query={source} noun="The source">
      {(found) => (
        <section className="form">
          <h2>Give this address to the sender</h2>
          <div className="copyable large">
            <code>{found.ingestUrl}</code>
            <CopyButton text={found.ingestUrl} label="Copy address" />
          </div>
          <Sample source={found} />
          <Arrival sourceId={sourceId} />
        </section>
      )}
    </Loaded>
  )
}

function Sample({ source }: { source: Schemas['Source'] }) {
  const { data } = useQuery({
    queryKey: ['sample', source.id],
    queryFn: async () => (await sampleCommand(source, secretOf(source.id))) ?? null,
    staleTime: Infinity,
  })
  return (
    <>
      {typeof data === 'string' && (
        <>
          <p>Or send a sample yourself, from any terminal:</p>
          <Command text={data} />
        </>
      )}
      <SendSample source={source} />
    </>
  )
}

/** Listens for the first event of the source, and looks once more by itself in case it came before. */
function Arrival({ sourceId }: { sourceId: string }) {
  const { api, projectId } = useProject()
  const navigate = useNavigate()
  const tail = useLiveTail({ projectId, sourceId }, false)
  const { data } = useQuery({
    queryKey: [projectId, 'first-of', sourceId],
    queryFn: () => api.listEvents({ sourceId, limit: 1 }),
    refetchInterval: 5000,
  })
  const arrived = tail.rows[0] ?? data?.data[0]
  const accepted = arrived !== undefined && arrived.status !== 'rejected' ? arrived.id : undefined
  useEffect(() => {
    if (accepted === undefined) return
    void navigate({
      to: '/p/$projectId/start',
      params: { projectId },
      search: { source: sourceId, event: accepted },
    })
  }, [accepted, navigate, projectId, sourceId])
  return (
    <div className={arrived?.status === 'rejected' ? 'notice bad' : 'notice place'} role="status">
      {arrived?.status === 'rejected' ? (
        <>
          <span>
            A request came and was rejected: {arrived.rejectionReason?.replaceAll('_', ' ')}. Still
            waiting for one that is accepted.
          </span>
          <div className="buttons">
            <Link
              className="button"
              to="/p/$projectId/sources/$sourceId"
              params={{ projectId, sourceId }}
              search={{ tab: 'verify', event: arrived.id }}
            >
              Why?
            </Link>
          </div>
        </>
      ) : (
        <StatusMark status="running" word="Waiting for the first webhook…" />
      )}
    </div>
  )
}
