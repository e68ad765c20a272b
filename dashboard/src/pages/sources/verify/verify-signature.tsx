import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { AreaField, SelectField } from '../../../parts/forms/fields.tsx'
import { Form, useAction } from '../../../parts/forms/form.tsx'
import { shortId } from '../../../parts/words/numbers.ts'
import { timeText } from '../../../parts/words/time.tsx'
import { useProject } from '../../../session/project.tsx'
import { Diagnosis } from './diagnosis.tsx'
import { pastedRequest } from './pasted-request.ts'
import { PretendNow } from './pretend-now.tsx'

type Source = Schemas['Source']
type Event = Schemas['Event']

const PASTED = 'pasted'

/** Why was a signature refused? A stored request or a pasted one goes through the same checks as at ingest. */
export function VerifySignature({
  source,
  eventId,
}: {
  source: Source
  eventId: string | undefined
}) {
  const { api, projectId } = useProject()
  const [chosen, setChosen] = useState(eventId ?? PASTED)
  const [pasted, setPasted] = useState('')
  const [shiftMinutes, setShift] = useState(0)
  const rejected = useQuery({
    queryKey: [projectId, 'recent-of', source.id],
    queryFn: () => api.listEvents({ sourceId: source.id, limit: 50 }),
  })
  const event = useQuery({
    queryKey: [projectId, 'event', chosen],
    queryFn: () => api.getEvent({ id: chosen }),
    enabled: chosen !== PASTED,
    staleTime: Infinity,
  })
  const stored = chosen === PASTED ? undefined : event.data
  const base = stored === undefined ? Date.now() : Date.parse(stored.createdAt)
  const now = new Date(base + shiftMinutes * 60_000).toISOString()
  const action = useAction(() =>
    api.testSignature({
      id: source.id,
      body: { ...(stored === undefined ? ofPasted(pasted) : ofEvent(stored, source)), now },
    }),
  )
  return (
    <div className="columns">
      <Form
        action={action}
        submit="Test the signature"
        isDisabled={chosen === PASTED ? pasted.trim() === '' : stored === undefined}
      >
        <SelectField
          label="Request"
          value={chosen}
          onChange={setChosen}
          options={[
            [PASTED, 'A request that I paste'],
            ...optionsOf(rejected.data?.data ?? [], eventId),
          ]}
        />
        {chosen === PASTED && (
          <AreaField
            label="The request, or a curl command"
            rows={12}
            placeholder={'POST /in/… HTTP/1.1\nx-signature: …\n\n{"type":"…"}'}
            value={pasted}
            onChange={setPasted}
          />
        )}
        <PretendNow
          base={base}
          minutes={shiftMinutes}
          onChange={setShift}
          isStored={stored !== undefined}
        />
        <p className="muted">At most 5 tests a second. Nothing is stored.</p>
      </Form>
      {action.result === undefined ? (
        <p className="muted">The answer stands here.</p>
      ) : (
        <Diagnosis diagnosis={action.result} source={source} />
      )}
    </div>
  )
}

function optionsOf(
  events: readonly Schemas['EventSummary'][],
  eventId: string | undefined,
): (readonly [string, string])[] {
  const listed = events.map(
    ({ id, createdAt, rejectionReason, eventType }) =>
      [
        id,
        `${timeText(createdAt)}, ${rejectionReason?.replaceAll('_', ' ') ?? `accepted, ${eventType ?? 'no type'}`}, ${shortId(id)}`,
      ] as const,
  )
  const isListed = eventId === undefined || listed.some(([id]) => id === eventId)
  return isListed ? listed : [[eventId, shortId(eventId)], ...listed]
}

function ofPasted(text: string): Schemas['SignatureTest'] {
  const { method, url, headers, body } = pastedRequest(text)
  return { method, headers, body, ...(url === undefined ? {} : { url }) }
}

function ofEvent(event: Event, source: Source): Schemas['SignatureTest'] {
  const headers: Record<string, string | string[]> = {}
  for (const [name = '', value = ''] of event.headers) {
    const before = headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  const query = new URLSearchParams(event.query.map(([name = '', value = '']) => [name, value]))
  const url = query.size === 0 ? source.ingestUrl : `${source.ingestUrl}?${query.toString()}`
  return { method: event.method, url, headers, bodyBase64: event.rawBase64 }
}
