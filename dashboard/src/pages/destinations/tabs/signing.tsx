import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { DangerAction } from '../../../parts/danger-action.tsx'
import { CheckField } from '../../../parts/forms/fields.tsx'
import { formKey } from '../../../parts/forms/form-key.ts'
import { useAction } from '../../../parts/forms/form.tsx'
import { ActionFault } from '../../../parts/states.tsx'
import { Copyable } from '../../../parts/words/copy.tsx'
import { Time } from '../../../parts/words/time.tsx'
import { OWNERS_ONLY, useProject } from '../../../session/project.tsx'

const DAY_SECONDS = 86_400

export function Signing({ destination }: { destination: Schemas['Destination'] }) {
  return (
    <>
      <section className="form">
        <p>
          Deliveries carry <code>webhook-id</code>, <code>webhook-timestamp</code> and{' '}
          <code>webhook-signature</code> as{' '}
          <a href="https://www.standardwebhooks.com" rel="noreferrer">
            Standard Webhooks
          </a>{' '}
          has it. Check them with any of its libraries and this secret.
        </p>
        <Reveal key={formKey(destination.signingSecretRotation)} destination={destination} />
      </section>
      <Rotate destination={destination} />
    </>
  )
}

/** Begins anew with every rotation: a secret that was shown before is the present one no more. */
function Reveal({ destination }: { destination: Schemas['Destination'] }) {
  const { api, mayAll } = useProject()
  const action = useAction(() => api.getSigningSecret({ id: destination.id }))
  if (action.result === undefined) {
    return (
      <>
        <button
          type="button"
          className="button"
          aria-disabled={!mayAll}
          title={mayAll ? undefined : OWNERS_ONLY}
          onClick={() => mayAll && action.run()}
        >
          Show the signing secret
        </button>
        <ActionFault error={action.error} />
      </>
    )
  }
  const { secret, previous } = action.result
  return (
    <>
      <Copyable text={secret} name="secret" />
      {previous !== null && (
        <>
          <p>
            Until <Time at={previous.expiresAt} withAge /> deliveries are signed with the previous
            one too:
          </p>
          <Copyable text={previous.secret} name="previous secret" />
        </>
      )}
    </>
  )
}

function Rotate({ destination }: { destination: Schemas['Destination'] }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const [force, setForce] = useState(false)
  const overlap = destination.signingSecretRotation
  const rotate = async () => {
    await api.rotateSigningSecret({
      id: destination.id,
      body: { overlapSeconds: DAY_SECONDS, force },
    })
    await client.invalidateQueries({ queryKey: [projectId, 'destination', destination.id] })
  }
  return (
    <section className="section">
      <h2>Another signing secret</h2>
      {overlap === null ? (
        <p>For 24 hours deliveries are signed with both, so that receivers can follow in peace.</p>
      ) : (
        <p>
          A rotation is under way: both secrets sign until{' '}
          <Time at={overlap.previousExpiresAt} withAge />.
        </p>
      )}
      {overlap !== null && (
        <CheckField
          label="Displace the previous secret at once"
          hint="Receivers that have not changed yet will refuse deliveries."
          value={force}
          onChange={setForce}
        />
      )}
      <div className="buttons">
        <DangerAction
          name="Rotate the signing secret…"
          title="Rotate the signing secret?"
          action="Rotate"
          run={rotate}
        >
          <p>Show the new one afterwards, and give it to those who check signatures.</p>
        </DangerAction>
      </div>
    </section>
  )
}
