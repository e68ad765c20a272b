import { callAlerts, type AlertMails } from '../../api/alerts.ts'
import { CheckField } from '../../parts/forms/fields.tsx'
import { useAction } from '../../parts/forms/form.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { useProject } from '../../shell/project.tsx'
import { useAlertMails, useAlertsAgain } from './queries.ts'

/** Which notifications this person gets as mails, where the installation sends any. */
export function MailChoice() {
  const { mayAll } = useProject()
  const mails = useAlertMails()
  return (
    <section className="section">
      <h2>Mails to you</h2>
      <Loaded query={mails} noun="The choice">
        {(choice) =>
          choice.isOffered && mayAll ? (
            <Choice choice={choice} />
          ) : (
            <p className="muted">
              {choice.isOffered
                ? 'Owners and admins get mails about alerts.'
                : 'This installation sends no mails: its operator can set SMTP_URL.'}
            </p>
          )
        }
      </Loaded>
    </section>
  )
}

function Choice({ choice: { types, unwanted } }: { choice: AlertMails }) {
  return (
    <div className="form">
      {types.map((type) => (
        <Type key={type} type={type} unwanted={unwanted} />
      ))}
    </div>
  )
}

function Type({ type, unwanted }: { type: string; unwanted: readonly string[] }) {
  const { projectId } = useProject()
  const again = useAlertsAgain()
  const isWanted = !unwanted.includes(type)
  const toggle = useAction(
    () =>
      callAlerts(projectId, 'PUT', '/mails', {
        unwanted: isWanted ? [...unwanted, type] : unwanted.filter((one) => one !== type),
      }),
    () => void again(),
  )
  return (
    <>
      <CheckField label={type} value={isWanted} onChange={toggle.run} />
      <ActionFault error={toggle.error} />
    </>
  )
}
