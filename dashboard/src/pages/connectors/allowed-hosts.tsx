import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { AreaField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useSaved } from '../../parts/forms/use-saved.ts'
import { linesOf } from '../../parts/verifier/needs.ts'
import { useProject } from '../../session/project.tsx'

export function AllowedHosts({ connector }: { connector: Schemas['Connector'] }) {
  const { api } = useProject()
  const [hosts, setHosts] = useState(connector.allowedHosts.join('\n'))
  const saved = useSaved('connector')
  const action = useAction(
    () =>
      api.updateConnector({ id: connector.id, body: { data: { allowedHosts: linesOf(hosts) } } }),
    (changed) => saved(changed, 'Saved: connected agents have heard of it'),
  )
  return (
    <section className="section">
      <h2>Allowed hosts</h2>
      <Form action={action} submit="Save the hosts">
        <AreaField
          label="Hosts, each on a line"
          hint="They narrow the rules of the agents, and never widen them. Empty narrows nothing."
          rows={3}
          value={hosts}
          onChange={setHosts}
          fault={action.fault('allowedHosts')}
        />
      </Form>
    </section>
  )
}
