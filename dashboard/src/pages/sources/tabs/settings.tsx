import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { DangerAction } from '../../../parts/danger-action.tsx'
import { AreaField, CheckField, TextField } from '../../../parts/forms/fields.tsx'
import { formKey } from '../../../parts/forms/form-key.ts'
import { Form, useAction } from '../../../parts/forms/form.tsx'
import { useSaved } from '../../../parts/forms/use-saved.ts'
import { linesOf } from '../../../parts/verifier/needs.ts'
import { usePresets } from '../../../parts/verifier/presets.ts'
import {
  CUSTOM,
  NONE,
  VerifierFields,
  verifierOf,
  type Choice,
} from '../../../parts/verifier/verifier-fields.tsx'
import { useProject } from '../../../session/project.tsx'
import { mailChoiceOf, MailVerifierFields, mailVerifierOf } from '../mail/mail-verifier.tsx'

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const

type Source = Schemas['Source']

export function Settings({ source }: { source: Source }) {
  const { name, eventTypeField, idempotencyKeys, maxPayloadSizeKb, allowedMethods } = source
  const general = [name, eventTypeField, idempotencyKeys, maxPayloadSizeKb, allowedMethods]
  return (
    <>
      <General key={formKey(general)} source={source} />
      {source.kind === 'email' ? (
        <MailVerifier key={formKey(source.verifier)} source={source} />
      ) : (
        <Verifier key={formKey(source.verifier)} source={source} />
      )}
      <Danger source={source} />
    </>
  )
}

function useSave(source: Source, changes: () => Schemas['SourceChanges']) {
  const { api } = useProject()
  const saved = useSaved('source')
  return useAction(
    async () => await api.updateSource({ id: source.id, body: { data: changes() } }),
    (changed) => saved(changed),
  )
}

function General({ source }: { source: Source }) {
  const [name, setName] = useState(source.name)
  const [type, setType] = useState(source.eventTypeField ?? '')
  const [keys, setKeys] = useState(source.idempotencyKeys.join('\n'))
  const [size, setSize] = useState(String(source.maxPayloadSizeKb))
  const [methods, setMethods] = useState<readonly string[]>(source.allowedMethods)
  const action = useSave(source, () => ({
    name,
    eventTypeField: type === '' ? null : type,
    idempotencyKeys: linesOf(keys),
    maxPayloadSizeKb: Number(size),
    allowedMethods: METHODS.filter((method) => methods.includes(method)),
  }))
  return (
    <section className="form">
      <Form action={action} submit="Save">
        <TextField
          label="Name"
          required
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
        <TextField
          label="Where the event type stands"
          hint={
            <>
              A selector such as <code>body.type</code> or <code>header.x-github-event</code>.
            </>
          }
          isMono
          value={type}
          onChange={setType}
          fault={action.fault('eventTypeField')}
        />
        <AreaField
          label="Idempotency keys, each on a line"
          hint={
            <>
              The first that is there identifies an event, such as <code>body.id</code>. A repeat is
              not stored again.
            </>
          }
          rows={3}
          value={keys}
          onChange={setKeys}
          fault={action.fault('idempotencyKeys')}
        />
        <TextField
          label="Largest body in KiB"
          type="number"
          value={size}
          onChange={setSize}
          fault={action.fault('maxPayloadSizeKb')}
        />
        {source.kind === 'http' && (
          <fieldset>
            <legend>Methods</legend>
            <div className="buttons">
              {METHODS.map((method) => (
                <CheckField
                  key={method}
                  label={method}
                  value={methods.includes(method)}
                  onChange={(isOn) =>
                    setMethods(
                      isOn ? [...methods, method] : methods.filter((each) => each !== method),
                    )
                  }
                />
              ))}
            </div>
          </fieldset>
        )}
      </Form>
    </section>
  )
}

function MailVerifier({ source }: { source: Source }) {
  const [choice, setChoice] = useState(() => mailChoiceOf(source.verifier))
  const action = useSave(source, () => ({ verifier: mailVerifierOf(choice) }))
  return (
    <section className="section">
      <h2>Senders</h2>
      <Form action={action} submit="Save the senders">
        <MailVerifierFields choice={choice} onChange={setChoice} fault={action.fault} />
      </Form>
    </section>
  )
}

function Verifier({ source }: { source: Source }) {
  const { data: presets = [] } = usePresets()
  const { verifier } = source
  const [choice, setChoice] = useState<Choice>(() => ({
    preset: verifier.preset ?? (verifier.type === 'none' ? NONE : CUSTOM),
    values: {},
    json: JSON.stringify(verifier, null, 2),
  }))
  const action = useSave(source, () => verifierOf(choice, presets))
  return (
    <section className="section">
      <h2>Verifier</h2>
      <Form action={action} submit="Save the verifier">
        <VerifierFields choice={choice} onChange={setChoice} fault={action.fault} keeps />
      </Form>
    </section>
  )
}

function Danger({ source }: { source: Source }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const navigate = useNavigate()
  const again = () => client.invalidateQueries({ queryKey: [projectId] })
  return (
    <section className="section">
      <h2>These cannot be taken back</h2>
      <div className="buttons">
        <DangerAction
          name="Change the address…"
          title="Give the source another address?"
          action="Change the address"
          run={async () => {
            await api.rotateSourceMask({ id: source.id })
            await again()
          }}
        >
          <p>
            The present address takes nothing from then on. Providers that sign it must have the new
            one.
          </p>
        </DangerAction>
        <DangerAction
          name="Delete the source…"
          title={`Delete ${source.name}?`}
          action="Delete"
          typed={source.name}
          run={async () => {
            await api.deleteSource({ id: source.id, cascade: true })
            await navigate({ to: '/p/$projectId/sources', params: { projectId } })
            void again()
          }}
        >
          <p>
            Its connections are deleted too, and what waits for them is cancelled. Its events stay.
          </p>
        </DangerAction>
      </div>
    </section>
  )
}
