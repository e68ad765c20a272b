import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Api } from '../../api/client.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { Payload } from '../../parts/payload/payload.tsx'
import { Loaded } from '../../parts/states.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'

/** The event has arrived; the destination comes second, because a form before any value loses people. */
export function Deliver({ sourceId, eventId }: { sourceId: string; eventId: string }) {
  const { api, projectId } = useProject()
  const event = useQuery({
    queryKey: [projectId, 'event', eventId],
    queryFn: () => api.getEvent({ id: eventId }),
    staleTime: Infinity,
  })
  return (
    <div className="columns">
      <section className="form">
        <h2>
          <StatusMark status="succeeded" word="It is here, and stored" />
        </h2>
        <Loaded query={event} noun="The event">
          {(found) => <Payload event={found} />}
        </Loaded>
      </section>
      <section className="form">
        <h2>Deliver it</h2>
        <ToUrl sourceId={sourceId} eventId={eventId} />
        <p>
          Does it go to a private network or to this laptop? Use a{' '}
          <Link to="/p/$projectId/connectors" params={{ projectId }}>
            connector
          </Link>
          .
        </p>
      </section>
    </div>
  )
}

function ToUrl({ sourceId, eventId }: { sourceId: string; eventId: string }) {
  const { api, projectId } = useProject()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [url, setUrl] = useState('')
  const action = useAction(
    () => connect(api, { sourceId, eventId, url }),
    (destination) => {
      void client.invalidateQueries({ queryKey: [projectId] })
      void navigate({
        to: '/p/$projectId/start',
        params: { projectId },
        search: { source: sourceId, event: eventId, destination },
      })
    },
  )
  return (
    <Form action={action} submit="Deliver it there">
      <TextField
        label="URL"
        type="url"
        required
        isMono
        placeholder="https://shop.example.com/webhooks"
        value={url}
        onChange={setUrl}
        fault={action.fault('url')}
      />
    </Form>
  )
}

/** A destination, a connection, and the event once more. By name, so that a second try repeats nothing. */
async function connect(
  api: Api,
  { sourceId, eventId, url }: { sourceId: string; eventId: string; url: string },
): Promise<string> {
  const name = URL.canParse(url) ? new URL(url).host : 'first'
  const { id } = await api.upsertDestination({ name, body: { url } })
  await api.upsertConnection({ name: `to-${name}`, body: { sourceId, destinationId: id } })
  await api.replayEvent({ id: eventId })
  return id
}
