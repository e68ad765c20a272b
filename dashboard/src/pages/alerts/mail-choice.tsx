import { callAlerts, type AlertMails } from '../../api/alerts.ts'
import { CheckField } from '../../parts/forms/fields.tsx'
import { useAction } from '../../parts/forms/form.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { useProject } from '../../session/project.tsx'
import { useAlertMails, useAlertsSaved } from './queries.ts'

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

/** The whole choice is sent with each change: the next change waits for the answer to this one, or it would undo it. */
function Choice({ choice: { types, unwanted } }: { choice: AlertMails }) {
  const { projectId } = useProject()
  const saved = useAlertsSaved()
  const choose = useAction(
    (type: string, isWanted: boolean) =>
      callAlerts<AlertMails>(projectId, 'PUT', '/mails', {
        unwanted: isWanted ? unwanted.filter((one) => one !== type) : [...unwanted, type],
      }),
    (choice) => saved('mails', choice),
  )
  return (
    <div className="form">
      {types.map((type) => (
        <CheckField
          key={type}
          label={type}
          value={!unwanted.includes(type)}
          disabled={choose.isRunning}
          onChange={(isWanted) => choose.run(type, isWanted)}
        />
      ))}
      <ActionFault error={choose.error} />
    </div>
  )
}
