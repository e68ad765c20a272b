import type { Schemas } from '../../../api/client.ts'
import { Command, CopyButton } from '../../../parts/words/copy.tsx'

/** Where mail for a source comes in. */
export function MailAddress({ address }: { address: string | null }) {
  if (address === null) {
    return (
      <p className="notice busy">
        This installation takes no mail. Its operator sets <code>SMTP_PORT</code> and{' '}
        <code>SMTP_DOMAIN</code>.
      </p>
    )
  }
  return (
    <div className="copyable large">
      <code>{address}</code>
      <CopyButton text={address} label="Copy address" />
    </div>
  )
}

export function SendMail({ source }: { source: Schemas['Source'] }) {
  if (source.ingestAddress === null) return null
  return (
    <section className="section">
      <h2>Send something</h2>
      <Command
        text={`swaks --to ${source.ingestAddress} \\\n  --header 'Subject: Test' --body 'Hello'`}
      />
      <p className="muted">
        Text behind a plus sign in front of the @ becomes <code>recipientTag</code> of the body.
      </p>
    </section>
  )
}
