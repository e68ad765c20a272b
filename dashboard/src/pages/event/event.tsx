import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { useKeys } from '../../parts/keys.ts'
import { useNames } from '../../parts/names/names.ts'
import { Purged } from '../../parts/retention/purged.tsx'
import { Loaded } from '../../parts/states.tsx'
import { CopyButton } from '../../parts/words/copy.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time, useNow } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { useReplay } from '../events/use-replay.tsx'
import { curlOf } from './curl.ts'
import { EventBody } from './event-body.tsx'
import { Neighbours } from './neighbours.tsx'
import { eventQuery, timelineQuery } from './queries.ts'
import { Stages } from './stages.tsx'
import { TimelinePart } from './timeline-part.tsx'
import { VerdictNotice } from './verdict.tsx'

export function EventPage() {
  const { eventId } = useParams({ from: '/inside/p/$projectId/events/$eventId' })
  const { projectId } = useProject()
  const event = useQuery(eventQuery(projectId, eventId))
  const timeline = useQuery(timelineQuery(projectId, eventId))
  return (
    <Loaded query={event} noun="The event" missing={<Purged id={eventId} />}>
      {(found) => (
        <>
          <Header event={found} />
          <Loaded query={timeline} noun="The timeline">
            {(told) => (
              <>
                <VerdictNotice event={found} timeline={told} />
                <Stages phases={told.phases} />
                <Ticking>
                  {(now) => <TimelinePart timeline={told} receivedAt={found.createdAt} now={now} />}
                </Ticking>
              </>
            )}
          </Loaded>
          <EventBody event={found} />
        </>
      )}
    </Loaded>
  )
}

/** Only what shows the present is drawn again each second. */
function Ticking({ children }: { children: (now: number) => React.ReactNode }) {
  return children(useNow())
}

function Header({ event }: { event: Schemas['Event'] }) {
  const { projectId } = useProject()
  const { nameOf, sources } = useNames()
  const [replay, dialog] = useReplay()
  const ingestUrl = sources.find(({ id }) => id === event.sourceId)?.ingestUrl
  useKeys({
    r: () => replay(event.id),
    c: () => void navigator.clipboard.writeText(event.id),
  })
  return (
    <header>
      <div>
        <PageTitle>{event.eventType ?? 'Event without a type'}</PageTitle>
        <p className="tags muted">
          <StatusMark status={event.status} />
          <span>
            from{' '}
            <Link
              to="/p/$projectId/sources/$sourceId"
              params={{ projectId, sourceId: event.sourceId }}
            >
              {nameOf(event.sourceId)}
            </Link>
          </span>
          <Time at={event.createdAt} withAge />
          <code>{event.id}</code>
        </p>
      </div>
      <div className="buttons">
        <Neighbours eventId={event.id} />
        <CopyButton text={event.id} label="Copy id" />
        {ingestUrl !== undefined && event.method !== 'MAIL' && (
          <CopyButton text={curlOf(event, ingestUrl)} label="Copy as curl" />
        )}
        <button type="button" className="button main" onClick={() => replay(event.id)}>
          Replay…
        </button>
      </div>
      {dialog}
    </header>
  )
}
