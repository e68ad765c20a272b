import { useState } from 'react'

import { callAlerts, type AlertEndpoint } from '../../api/alerts.ts'
import type { Schemas } from '../../api/client.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { Copyable } from '../../parts/words/copy.tsx'
import { Time } from '../../parts/words/time.tsx'
import { OWNERS_ONLY, useProject } from '../../session/project.tsx'
import { AttemptPanel } from '../../timeline/attempt-panel.tsx'
import { useAlertEndpoint, useAlertsAgain, useAlertsSaved } from './queries.ts'

/** Where the alerts of the organisation go as webhooks. */
export function AlertTarget() {
  const { organisation } = useProject()
  const endpoint = useAlertEndpoint()
  return (
    <section className="section">
      <h2>Address</h2>
      <p className="muted">
        Alerts of all projects of {organisation.name} go there, signed as Standard Webhooks.
      </p>
      <Loaded query={endpoint} noun="The address">
        {(present) => (
          <>
            <SetAddress key={present?.url} present={present} />
            {present !== null && <Present endpoint={present} />}
          </>
        )}
      </Loaded>
    </section>
  )
}

function SetAddress({ present }: { present: AlertEndpoint | null }) {
  const { projectId, mayAll } = useProject()
  const saved = useAlertsSaved()
  const [url, setUrl] = useState(present?.url ?? '')
  const action = useAction(
    () => callAlerts<{ endpoint: AlertEndpoint }>(projectId, 'PUT', '/endpoint', { url }),
    ({ endpoint }) => saved('endpoint', endpoint),
  )
  return (
    <Form action={action} submit="Save the address" isDisabled={!mayAll || url === ''}>
      <TextField
        label="URL"
        type="url"
        value={url}
        onChange={setUrl}
        hint={mayAll ? 'An https address of your own or of an on-call service.' : OWNERS_ONLY}
        fault={action.fault('url')}
      />
    </Form>
  )
}

function Present({ endpoint }: { endpoint: AlertEndpoint }) {
  const { projectId, mayAll } = useProject()
  const again = useAlertsAgain()
  const test = useAction(
    () => callAlerts<{ attempt: Schemas['Attempt'] }>(projectId, 'POST', '/test'),
    () => void again(),
  )
  const reveal = useAction(() =>
    callAlerts<{ secret: string }>(projectId, 'GET', '/endpoint/signing-secret'),
  )
  return (
    <>
      {!endpoint.isEnabled && (
        <p className="notice bad">
          The address answered that it is gone, so nothing is sent. Save it again to use it again.
        </p>
      )}
      <div className="buttons">
        <button type="button" className="button" disabled={test.isRunning} onClick={test.run}>
          Send a test
        </button>
        <button
          type="button"
          className="button"
          aria-disabled={!mayAll}
          title={mayAll ? undefined : OWNERS_ONLY}
          onClick={() => mayAll && reveal.run()}
        >
          Show the signing secret
        </button>
        <DangerAction
          name="Remove…"
          title="Send alerts to no address?"
          action="Remove"
          run={async () => {
            await callAlerts(projectId, 'DELETE', '/endpoint')
            await again()
          }}
        >
          <p>Alerts still open and close here. Notifications that wait are cancelled.</p>
        </DangerAction>
      </div>
      <ActionFault error={test.error ?? reveal.error} />
      {reveal.result !== undefined && <Copyable text={reveal.result.secret} name="secret" />}
      {test.result !== undefined && <AttemptPanel attempt={test.result.attempt} />}
      <Deliveries endpoint={endpoint} />
    </>
  )
}

function Deliveries({ endpoint: { deliveries } }: { endpoint: AlertEndpoint }) {
  if (deliveries.length === 0) return null
  return (
    <table className="table cards" aria-label="Last notifications">
      <thead>
        <tr>
          <th>Notification</th>
          <th>Status</th>
          <th>Attempts</th>
          <th>At</th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map(({ id, type, status, attempts, lastError, at }) => (
          <tr key={id}>
            <td>{type ?? 'alert.test'}</td>
            <td data-label="Status">
              {status}
              {lastError !== null && <span className="muted"> ({lastError})</span>}
            </td>
            <td data-label="Attempts" className="mono">
              {attempts}
            </td>
            <td data-label="At">
              <Time at={at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
