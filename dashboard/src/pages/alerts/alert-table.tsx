import { Link } from '@tanstack/react-router'

import { callAlerts, type Alert } from '../../api/alerts.ts'
import { useAction } from '../../parts/forms/form.tsx'
import { ActionTable } from '../../parts/lists/action-table.tsx'
import { ActionFault } from '../../parts/states.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { useAlertsAgain } from './queries.ts'

const MUTE_SECONDS = 86_400

export function AlertTable({ alerts, label }: { alerts: readonly Alert[]; label: string }) {
  return (
    <ActionTable columns={['Alert', 'Subject', 'Since', 'Told']} label={label}>
      {alerts.map((alert) => (
        <AlertRow key={alert.id} alert={alert} />
      ))}
    </ActionTable>
  )
}

function AlertRow({ alert }: { alert: Alert }) {
  const { openedAt, closedAt, summary, advice, type } = alert
  const isOpen = closedAt === null
  return (
    <tr>
      <td>
        <StatusMark status={isOpen ? 'open' : 'closed'} word={type} />
        <p>{summary}</p>
        {isOpen && <p className="muted">{advice}</p>}
      </td>
      <td data-label="Subject">
        <Subject alert={alert} />
      </td>
      <td data-label="Since">
        <Time at={openedAt} withAge={isOpen} />
        {closedAt !== null && (
          <>
            {' to '}
            <Time at={closedAt} />
          </>
        )}
      </td>
      <td data-label="Told">
        <Told alert={alert} />
      </td>
      <td>{isOpen && <Actions alert={alert} />}</td>
    </tr>
  )
}

function Subject({ alert: { subject, projectId } }: { alert: Alert }) {
  const { id, name } = subject
  if (projectId === null) return name
  if (id.startsWith('dst_')) {
    return (
      <Link
        to="/p/$projectId/destinations/$destinationId"
        params={{ projectId, destinationId: id }}
      >
        {name}
      </Link>
    )
  }
  if (id.startsWith('cnr_')) {
    return (
      <Link to="/p/$projectId/connectors/$connectorId" params={{ projectId, connectorId: id }}>
        {name}
      </Link>
    )
  }
  return (
    <Link to="/p/$projectId/sources/$sourceId" params={{ projectId, sourceId: id }}>
      {name}
    </Link>
  )
}

function Told({ alert: { notifications } }: { alert: Alert }) {
  const [last] = notifications
  if (last === undefined) return <span className="muted">Nobody yet</span>
  const { delivery, mails, at, type } = last
  return (
    <>
      {type}, <Time at={at} />
      {delivery !== null && (
        <span className="muted">
          {' '}
          webhook {delivery.status ?? 'purged'}
          {delivery.lastError !== null && ` (${delivery.lastError})`}
        </span>
      )}
      {mails > 0 && <span className="muted"> {mails === 1 ? '1 mail' : `${mails} mails`}</span>}
    </>
  )
}

function Actions({ alert }: { alert: Alert }) {
  const { projectId } = useProject()
  const again = useAlertsAgain()
  const { id, subject, acknowledgedAt, acknowledgedBy, mutedUntil } = alert
  const acknowledge = useAction(
    () => callAlerts(projectId, 'POST', `/${id}/acknowledge`),
    () => void again(),
  )
  const mute = useAction(
    () =>
      mutedUntil === null
        ? callAlerts(projectId, 'POST', '/mute', { subjectId: subject.id, seconds: MUTE_SECONDS })
        : callAlerts(projectId, 'POST', '/unmute', { subjectId: subject.id }),
    () => void again(),
  )
  return (
    <>
      <span className="buttons">
        {acknowledgedAt === null ? (
          <button type="button" className="button" onClick={acknowledge.run}>
            Acknowledge
          </button>
        ) : (
          <span className="muted">{acknowledgedBy ?? 'Somebody'} looks after it</span>
        )}
        <button type="button" className="button" onClick={mute.run}>
          {mutedUntil === null ? `Mute ${subject.name} for a day` : `Unmute ${subject.name}`}
        </button>
      </span>
      <ActionFault error={acknowledge.error ?? mute.error} />
    </>
  )
}
