import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { AreaField } from '../../../parts/forms/fields.tsx'
import { Form, useAction } from '../../../parts/forms/form.tsx'
import { useProject } from '../../../session/project.tsx'
import { AttemptPanel } from '../../../timeline/attempt-panel.tsx'

const BODY = '{\n  "type": "test",\n  "hello": "world"\n}'

/** An attempt now, shown whole. It counts nowhere. */
export function TestDelivery({ destination }: { destination: Schemas['Destination'] }) {
  const { api } = useProject()
  const [body, setBody] = useState(BODY)
  const [fault, setFault] = useState<string>()
  const action = useAction(() =>
    api.testDelivery({ id: destination.id, body: { body: JSON.parse(body) } }),
  )
  const run = () => {
    const isJson = canParse(body)
    setFault(isJson ? undefined : 'This is no JSON')
    if (isJson) action.run()
  }
  return (
    <section className="section">
      <h2>Test delivery</h2>
      <Form action={{ ...action, run }} submit="Send it now">
        <AreaField
          label="Body as JSON"
          hint="Signed and authenticated like every delivery; counts in no quota, pacing or statistics."
          rows={5}
          value={body}
          onChange={setBody}
          fault={fault}
        />
      </Form>
      {action.result !== undefined && <AttemptPanel attempt={action.result.attempt} />}
    </section>
  )
}

function canParse(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
