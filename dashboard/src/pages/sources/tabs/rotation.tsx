import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { Confirm } from '../../../parts/dialog.tsx'
import { SelectField, TextField } from '../../../parts/forms/fields.tsx'
import { Form, useAction } from '../../../parts/forms/form.tsx'
import { whole } from '../../../parts/words/numbers.ts'
import { SecretOnce } from '../../../parts/words/secret-once.tsx'
import { Time } from '../../../parts/words/time.tsx'
import { useProject } from '../../../session/project.tsx'

const OVERLAPS = [
  ['3600', '1 hour'],
  ['86400', '24 hours'],
  ['259200', '3 days'],
  ['604800', '7 days'],
] as const

/** A short secret has no hint, so that the hint does not tell whether there is one. */
const WITHOUT_SECRET = new Set(['none', 'ip_allow_list', 'public_key', 'aws_sns', 'email'])

export function Rotation({ source }: { source: Schemas['Source'] }) {
  if (WITHOUT_SECRET.has(source.verifier.type)) {
    return <p className="muted">The verifier of this source has no secret.</p>
  }
  return (
    <>
      {source.secretRotation !== null && (
        <Overlap source={source} rotation={source.secretRotation} />
      )}
      <Rotate source={source} />
    </>
  )
}

/** Answers "can I finish now?": how often each secret was used. */
function Overlap({
  source,
  rotation,
}: {
  source: Schemas['Source']
  rotation: Schemas['SourceSecretOverlap']
}) {
  const isUnused = rotation.previous.count === 0
  return (
    <section className="form">
      <h2>A rotation is under way</h2>
      <p>
        Both secrets verify until <Time at={rotation.previousExpiresAt} withAge />.{' '}
        {isUnused
          ? 'The previous one has verified nothing since the rotation began.'
          : 'The previous one is still used: the provider may not have the new one everywhere.'}
      </p>
      <table className="table">
        <thead>
          <tr>
            <th>Secret</th>
            <th className="number">Verified</th>
            <th>Last</th>
          </tr>
        </thead>
        <tbody>
          <Use name="new" usage={rotation.current} />
          <Use name="previous" usage={rotation.previous} />
        </tbody>
      </table>
      <Revert source={source} isUsed={rotation.current.count > 0} />
    </section>
  )
}

function Use({ name, usage }: { name: string; usage: Schemas['SecretUsage'] }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="number">{whole(usage.count)}</td>
      <td>{usage.lastSeenAt === null ? 'never' : <Time at={usage.lastSeenAt} withAge />}</td>
    </tr>
  )
}

function Revert({ source, isUsed }: { source: Schemas['Source']; isUsed: boolean }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const revert = async () => {
    await api.cancelSourceRotation({ id: source.id, body: { force: isUsed } })
    await client.invalidateQueries({ queryKey: [projectId, 'source', source.id] })
  }
  return (
    <>
      <button type="button" className="button danger" onClick={() => setOpen(true)}>
        Go back to the previous secret…
      </button>
      {isOpen && (
        <Confirm
          title="Go back to the previous secret?"
          action={isUsed ? 'Go back all the same' : 'Go back'}
          isDanger
          onClose={() => setOpen(false)}
          run={revert}
        >
          <p>
            The new secret stops verifying at once.{' '}
            {isUsed && 'It has already verified requests: those who use it will be rejected.'}
          </p>
        </Confirm>
      )}
    </>
  )
}

function Rotate({ source }: { source: Schemas['Source'] }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const [secret, setSecret] = useState('')
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number][0]>('86400')
  const action = useAction(
    () =>
      api.rotateSourceSecret({
        id: source.id,
        body: { overlapSeconds: Number(overlap), ...(secret === '' ? {} : { secret }) },
      }),
    async () => {
      setSecret('')
      await client.invalidateQueries({ queryKey: [projectId, 'source', source.id] })
    },
  )
  const { result } = action
  // It verifies nothing any more when the rotation that brought it was taken back.
  const isOfUse =
    result !== undefined && result.previousExpiresAt === source.secretRotation?.previousExpiresAt
  return (
    <section className="section">
      <h2>Give it another secret</h2>
      {isOfUse && (
        <SecretOnce secret={result.secret} name="secret">
          The previous one verifies until <Time at={result.previousExpiresAt} />.
        </SecretOnce>
      )}
      <Form action={action} submit="Rotate the secret">
        <TextField
          label="New secret"
          hint="Left empty: Postern makes one in the form of the verifier."
          isMono
          autoComplete="off"
          value={secret}
          onChange={setSecret}
          fault={action.fault('secret')}
        />
        <SelectField
          label="Both secrets verify for"
          value={overlap}
          onChange={setOverlap}
          options={OVERLAPS}
          fault={action.fault('overlapSeconds')}
        />
      </Form>
    </section>
  )
}
