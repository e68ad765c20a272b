import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { Form, useAction } from '../../parts/forms/form.tsx'
import { useNames } from '../../parts/names/names.ts'
import { POPULAR, providerName, usePresets } from '../../parts/verifier/presets.ts'
import {
  NO_CHOICE,
  NONE,
  VerifierFields,
  verifierOf,
  type Choice,
} from '../../parts/verifier/verifier-fields.tsx'
import { useProject } from '../../session/project.tsx'
import { keepSecret } from './secrets.ts'

const TILES = [NONE, ...POPULAR]

/** A tile makes the source at once when the provider needs nothing further. */
export function ChooseProvider() {
  const { api, projectId } = useProject()
  const { data: presets = [] } = usePresets()
  const { sources } = useNames()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [choice, setChoice] = useState<Choice>(NO_CHOICE)
  const [isOpen, setOpen] = useState(false)
  const action = useAction(
    () =>
      api.createSource({
        body: { name: freeName(choice.preset, sources), ...verifierOf(choice, presets) },
      }),
    ({ id }) => {
      const secret = choice.values['secret']
      if (secret !== undefined) keepSecret(id, secret)
      void client.invalidateQueries({ queryKey: [projectId] })
      void navigate({ to: '/p/$projectId/start', params: { projectId }, search: { source: id } })
    },
  )
  return (
    <section className="form">
      <p>
        Who will send? A source is made with an address for it; everything can be changed later.
      </p>
      <div className="tiles">
        {TILES.map((preset) => (
          <button
            key={preset}
            type="button"
            className="button"
            aria-pressed={isOpen && choice.preset === preset}
            onClick={() => {
              setChoice({ ...NO_CHOICE, preset })
              setOpen(true)
            }}
          >
            {preset === NONE ? 'Anything, curl for one' : providerName(preset)}
          </button>
        ))}
        <button
          type="button"
          className="button"
          aria-pressed={isOpen && !TILES.includes(choice.preset)}
          onClick={() => {
            setChoice({ ...NO_CHOICE, preset: 'gitlab' })
            setOpen(true)
          }}
        >
          Another provider
        </button>
      </div>
      {isOpen && (
        <Form action={action} submit="Make the source">
          <VerifierFields choice={choice} onChange={setChoice} fault={action.fault} />
        </Form>
      )}
    </section>
  )
}

/** `stripe`, or `stripe-2` when there is one. */
function freeName(preset: string, sources: readonly { name: string }[]): string {
  const base = preset === NONE ? 'first' : preset
  const taken = new Set(sources.map(({ name }) => name))
  if (!taken.has(base)) return base
  let number = 2
  while (taken.has(`${base}-${number}`)) number += 1
  return `${base}-${number}`
}
