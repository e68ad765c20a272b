import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { DangerAction } from '../../../parts/danger-action.tsx'
import { SelectField, TextField } from '../../../parts/forms/fields.tsx'
import { formKey } from '../../../parts/forms/form-key.ts'
import { Form, useAction } from '../../../parts/forms/form.tsx'
import { useSaved } from '../../../parts/forms/use-saved.ts'
import { useProject } from '../../../session/project.tsx'
import { AuthFields, authOf, type AuthDraft } from './auth-fields.tsx'
import { RetryFields } from './retry-fields.tsx'

type Destination = Schemas['Destination']

const PERIODS = [
  ['second', 'second'],
  ['minute', 'minute'],
  ['hour', 'hour'],
  ['day', 'day'],
] as const

function useSave(destination: Destination, changes: () => Schemas['DestinationChanges']) {
  const { api } = useProject()
  const saved = useSaved('destination')
  return useAction(
    async () => await api.updateDestination({ id: destination.id, body: { data: changes() } }),
    (changed) => saved(changed),
  )
}

export function Settings({ destination }: { destination: Destination }) {
  const { name, url, timeoutMs, auth, retryPolicy } = destination
  const { rateLimit, rateLimitPeriod, maxConcurrency } = destination
  return (
    <>
      <Address key={formKey(name, url, timeoutMs, auth)} destination={destination} />
      <Pace key={formKey(rateLimit, rateLimitPeriod, maxConcurrency)} destination={destination} />
      <Retries key={formKey(retryPolicy)} destination={destination} />
      <Danger destination={destination} />
    </>
  )
}

function Address({ destination }: { destination: Destination }) {
  const [name, setName] = useState(destination.name)
  const [url, setUrl] = useState(destination.url)
  const [timeout, setTimeout] = useState(String(destination.timeoutMs))
  const [auth, setAuth] = useState<AuthDraft>({ type: destination.auth.type, values: {} })
  const action = useSave(destination, () => ({
    name,
    url,
    timeoutMs: Number(timeout),
    auth: authOf(auth, destination.auth),
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
          label="URL"
          type="url"
          required
          isMono
          hint="With another origin its secrets must be given again."
          value={url}
          onChange={setUrl}
          fault={action.fault('url')}
        />
        <TextField
          label="Waits for an answer, in ms"
          type="number"
          value={timeout}
          onChange={setTimeout}
          fault={action.fault('timeoutMs')}
        />
        <AuthFields
          draft={auth}
          stored={destination.auth}
          onChange={setAuth}
          fault={action.fault}
        />
      </Form>
    </section>
  )
}

/** An empty field is no limit. */
const limitOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

function Pace({ destination }: { destination: Destination }) {
  const [rate, setRate] = useState(destination.rateLimit?.toString() ?? '')
  const [period, setPeriod] = useState(destination.rateLimitPeriod)
  const [concurrency, setConcurrency] = useState(destination.maxConcurrency?.toString() ?? '')
  const action = useSave(destination, () => ({
    rateLimit: limitOf(rate),
    rateLimitPeriod: period,
    maxConcurrency: limitOf(concurrency),
  }))
  return (
    <section className="section">
      <h2>Pace</h2>
      <Form action={action} submit="Save the pace">
        <div className="side-by-side">
          <TextField
            label="Deliveries"
            hint="Empty: no limit."
            type="number"
            value={rate}
            onChange={setRate}
            fault={action.fault('rateLimit')}
          />
          <SelectField label="in a" value={period} onChange={setPeriod} options={PERIODS} />
          <TextField
            label="Attempts at once"
            hint="Empty: no limit."
            type="number"
            value={concurrency}
            onChange={setConcurrency}
            fault={action.fault('maxConcurrency')}
          />
        </div>
      </Form>
    </section>
  )
}

function Retries({ destination }: { destination: Destination }) {
  const [policy, setPolicy] = useState(destination.retryPolicy)
  const action = useSave(destination, () => ({ retryPolicy: policy }))
  return (
    <section className="section">
      <h2>Retries</h2>
      <Form action={action} submit="Save the retries">
        <RetryFields policy={policy} onChange={setPolicy} fault={action.fault} />
      </Form>
    </section>
  )
}

function Danger({ destination }: { destination: Destination }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = async () => {
    await api.deleteDestination({ id: destination.id, cascade: true })
    await navigate({ to: '/p/$projectId/destinations', params: { projectId } })
    void client.invalidateQueries({ queryKey: [projectId] })
  }
  return (
    <section className="section">
      <h2>These cannot be taken back</h2>
      <div className="buttons">
        <DangerAction
          name="Delete the destination…"
          title={`Delete ${destination.name}?`}
          action="Delete"
          typed={destination.name}
          run={remove}
        >
          <p>Its connections are deleted too, and its waiting deliveries are cancelled.</p>
        </DangerAction>
      </div>
    </section>
  )
}
