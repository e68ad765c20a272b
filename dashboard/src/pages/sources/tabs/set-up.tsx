import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import type { Schemas } from '../../../api/client.ts'
import { SendSample } from '../../../parts/forms/send-sample.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { useNames } from '../../../parts/names/names.ts'
import { verifierWord } from '../../../parts/verifier/presets.ts'
import { Command, CopyButton } from '../../../parts/words/copy.tsx'
import { bytes, counted, whole } from '../../../parts/words/numbers.ts'
import { quoted } from '../../../parts/words/shell.ts'
import { DAY_MS } from '../../../parts/words/spans.ts'
import { Time } from '../../../parts/words/time.tsx'
import { useProject } from '../../../session/project.tsx'
import { MailAddress, SendMail } from '../mail/mail-address.tsx'

export function SetUp({ source }: { source: Schemas['Source'] }) {
  const isMail = source.kind === 'email'
  const command = `curl ${quoted(source.ingestUrl)} \\\n  -H 'content-type: application/json' \\\n  -d '{"type":"test","hello":"world"}'`
  return (
    <>
      <section className="form">
        {isMail ? (
          <>
            <h2>Have mail sent to this address</h2>
            <MailAddress address={source.ingestAddress} />
          </>
        ) : (
          <>
            <h2>Give this address to the provider</h2>
            <div className="copyable large">
              <code>{source.ingestUrl}</code>
              <CopyButton text={source.ingestUrl} label="Copy address" />
            </div>
          </>
        )}
        <dl className="facts">
          <dt>Last event</dt>
          <dd>
            {source.lastEventAt === null ? 'none yet' : <Time at={source.lastEventAt} withAge />}
          </dd>
          <dt>Verifier</dt>
          <dd>
            {verifierWord(source.verifier)}
            {source.secretHint !== null && (
              <>
                , secret <code>{source.secretHint}</code>
              </>
            )}
            {!source.bodyAuthenticated && !isMail && (
              <span className="muted"> (the body is not covered by a signature)</span>
            )}
          </dd>
          {!isMail && (
            <>
              <dt>Methods</dt>
              <dd>{source.allowedMethods.join(', ')}</dd>
            </>
          )}
          <dt>{isMail ? 'Largest mail' : 'Largest body'}</dt>
          <dd>{bytes(source.maxPayloadSizeKb * 1024)}</dd>
          <dt>Rate limit</dt>
          <dd>
            {source.rateLimit === 0
              ? 'none of its own'
              : `${counted(source.rateLimit, 'request')} a second`}{' '}
            <span className="muted">(changed by the operator of this installation)</span>
          </dd>
        </dl>
      </section>
      {isMail && <SendMail source={source} />}
      {!isMail && (
        <section className="section">
          <h2>Send something</h2>
          {source.verifier.type === 'none' && <Command text={command} />}
          <SendSample source={source} />
        </section>
      )}
      <Connections sourceId={source.id} />
      <Rejections source={source} />
    </>
  )
}

function Connections({ sourceId }: { sourceId: string }) {
  const { projectId } = useProject()
  const { connections, nameOf } = useNames()
  const own = connections.filter((connection) => connection.sourceId === sourceId)
  return (
    <section className="section">
      <header>
        <h2>Connections from here</h2>
        <div className="buttons">
          <Link
            className="button"
            to="/p/$projectId/connections/new"
            params={{ projectId }}
            search={{ source: sourceId }}
          >
            New connection
          </Link>
        </div>
      </header>
      {own.length === 0 ? (
        <p className="muted">None: events are stored, and stay unmatched.</p>
      ) : (
        <ul>
          {own.map(({ id, name, destinationId, isEnabled }) => (
            <li key={id}>
              <Link
                to="/p/$projectId/connections/$connectionId"
                params={{ projectId, connectionId: id }}
              >
                {name}
              </Link>{' '}
              <Icon name="arrow" /> {nameOf(destinationId)}
              {!isEnabled && <span className="muted"> (off)</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** Over a day, by reason: roll-ups, so that any number of events costs the same. */
function Rejections({ source }: { source: Schemas['Source'] }) {
  const { api, projectId } = useProject()
  const { data } = useQuery({
    queryKey: [projectId, 'rejections', source.id],
    queryFn: () =>
      api.getDashboard({
        sourceId: source.id,
        groupBy: 'rejectionReason',
        granularity: 'hour',
        from: new Date(Date.now() - DAY_MS).toISOString(),
      }),
    staleTime: 30_000,
  })
  const counts = new Map<string, number>()
  for (const { group, events } of data?.data ?? []) {
    if (group !== undefined && events.rejected > 0) {
      counts.set(group, (counts.get(group) ?? 0) + events.rejected)
    }
  }
  if (counts.size === 0) return null
  return (
    <section className="section">
      <header>
        <h2>Rejected in the last 24 hours</h2>
        <div className="buttons">
          <Link
            className="button"
            to="/p/$projectId/events"
            params={{ projectId }}
            search={{ source: source.id, status: 'rejected' }}
          >
            Show them
          </Link>
        </div>
      </header>
      <table className="table">
        <tbody>
          {[...counts].map(([reason, count]) => (
            <tr key={reason}>
              <th scope="row">{reason.replaceAll('_', ' ')}</th>
              <td className="number">{whole(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
