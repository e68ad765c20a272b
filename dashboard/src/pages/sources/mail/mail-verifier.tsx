import type { Schemas } from '../../../api/client.ts'
import { AreaField, SelectField } from '../../../parts/forms/fields.tsx'
import { linesOf } from '../../../parts/verifier/needs.ts'

/** The verifier of a source of mail, as its fields hold it. */
export interface MailChoice {
  require: 'none' | 'dkim' | 'dmarc'
  /** A domain on each line. */
  domains: string
}

export const ANY_MAIL: MailChoice = { require: 'none', domains: '' }

export function mailChoiceOf(verifier: Schemas['VerifierConfig']): MailChoice {
  if (verifier.type !== 'email') return ANY_MAIL
  return { require: verifier.require, domains: (verifier.allowedDomains ?? []).join('\n') }
}

export function mailVerifierOf({ require, domains }: MailChoice): Schemas['VerifierInput'] {
  const allowedDomains = linesOf(domains)
  return { type: 'email', require, ...(allowedDomains.length > 0 && { allowedDomains }) }
}

const REQUIRED = [
  ['none', 'Everybody who knows the address'],
  ['dmarc', 'Senders whose domain vouches for them (DMARC)'],
  ['dkim', 'Senders with a signature of a domain (DKIM)'],
] as const

export function MailVerifierFields({
  choice,
  onChange,
  fault,
}: {
  choice: MailChoice
  onChange: (choice: MailChoice) => void
  fault: (member: string) => string | undefined
}) {
  return (
    <>
      <SelectField
        label="Who may send"
        hint="Mail of others is refused, and kept as a rejected event."
        value={choice.require}
        onChange={(require) => onChange({ ...choice, require })}
        options={REQUIRED}
        fault={fault('verifier.require')}
      />
      <AreaField
        label="Domains of senders, each on a line"
        hint="Left empty: every domain."
        rows={3}
        value={choice.domains}
        onChange={(domains) => onChange({ ...choice, domains })}
        fault={fault('verifier.allowedDomains')}
      />
    </>
  )
}
