import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { SelectField, TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { usePresets } from '../../parts/verifier/presets.ts'
import { NO_CHOICE, VerifierFields, verifierOf } from '../../parts/verifier/verifier-fields.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { useProject } from '../../session/project.tsx'
import { ANY_MAIL, MailVerifierFields, mailVerifierOf } from './mail/mail-verifier.tsx'

const KINDS = [
  ['http', 'Webhooks of a provider'],
  ['email', 'Mail'],
] as const

/** Mail programs send a mail again when they are not sure that it arrived. */
const MAIL_DEFAULTS = {
  kind: 'email',
  eventTypeField: 'body.subject',
  idempotencyKeys: ['header.message-id'],
} as const

export function NewSource() {
  const { api, projectId } = useProject()
  const { data: presets = [] } = usePresets()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [kind, setKind] = useState<'http' | 'email'>('http')
  const [choice, setChoice] = useState(NO_CHOICE)
  const [mail, setMail] = useState(ANY_MAIL)
  const action = useAction(
    () => {
      const members =
        kind === 'email'
          ? {
              ...MAIL_DEFAULTS,
              idempotencyKeys: [...MAIL_DEFAULTS.idempotencyKeys],
              verifier: mailVerifierOf(mail),
            }
          : verifierOf(choice, presets)
      return api.createSource({ body: { name, ...members } })
    },
    ({ id }) => {
      void client.invalidateQueries({ queryKey: [projectId] })
      void navigate({ to: '/p/$projectId/sources/$sourceId', params: { projectId, sourceId: id } })
    },
  )
  return (
    <>
      <header>
        <PageTitle>New source</PageTitle>
      </header>
      <Form
        action={action}
        submit="Create the source"
        others={
          <Link to="/p/$projectId/sources" params={{ projectId }} className="button">
            Leave it
          </Link>
        }
      >
        <TextField
          label="Name"
          hint="Unique in the project, such as stripe-live."
          required
          autoFocus
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
        <SelectField
          label="Takes"
          hint="A source of mail has an email address, and its events are the mails."
          value={kind}
          onChange={setKind}
          options={KINDS}
        />
        {kind === 'email' ? (
          <MailVerifierFields choice={mail} onChange={setMail} fault={action.fault} />
        ) : (
          <VerifierFields choice={choice} onChange={setChoice} fault={action.fault} />
        )}
      </Form>
    </>
  )
}
