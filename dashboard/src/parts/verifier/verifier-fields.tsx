import type { Schemas } from '../../api/client.ts'
import { AreaField, SelectField, TextField } from '../forms/fields.tsx'
import { isList, labelOf, membersOf } from './needs.ts'
import { POPULAR, providerName, usePresets, type Preset } from './presets.ts'
import { randomSecret } from './random-secret.ts'

/** A preset with what it needs, `none`, or a verifier written as JSON. */
export interface Choice {
  preset: string
  values: Readonly<Record<string, string>>
  json: string
}

export const NONE = 'none'
export const CUSTOM = 'custom'

export const NO_CHOICE: Choice = { preset: NONE, values: {}, json: '' }

interface Given {
  verifier: Schemas['VerifierInput']
  handshake?: Schemas['HandshakeInput']
}

/** As a source takes it. Throws when the JSON is none. */
export function verifierOf(choice: Choice, presets: readonly Preset[]): Given {
  if (choice.preset === NONE) return { verifier: { type: 'none' } }
  if (choice.preset === CUSTOM) return { verifier: JSON.parse(choice.json) }
  const needs = presets.find(({ preset }) => preset === choice.preset)?.needs ?? []
  const { verifier, handshake } = membersOf(needs, choice.values)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API checks what a preset still needs
  return {
    verifier: { preset: choice.preset, ...verifier },
    ...(handshake === undefined ? {} : { handshake }),
  } as Given
}

export function VerifierFields({
  choice,
  onChange,
  fault,
  keeps = false,
}: {
  choice: Choice
  onChange: (choice: Choice) => void
  fault: (member: string) => string | undefined
  /** The stored secret stays when none is given. */
  keeps?: boolean
}) {
  const { data: presets = [] } = usePresets()
  const preset = presets.find((each) => each.preset === choice.preset)
  return (
    <>
      <SelectField
        label="Provider"
        hint="Its preset knows how the provider signs, and where the type of an event stands."
        value={choice.preset}
        onChange={(next) => onChange({ ...choice, preset: next, values: {} })}
        options={optionsOf(presets)}
        fault={fault('preset')}
      />
      {preset?.needs.map((need) => (
        <Need
          key={need}
          need={need}
          preset={preset}
          keeps={keeps}
          value={choice.values[need] ?? ''}
          onChange={(value) => onChange({ ...choice, values: { ...choice.values, [need]: value } })}
          fault={fault(need)}
        />
      ))}
      {choice.preset === CUSTOM && (
        <AreaField
          label="Verifier as JSON"
          hint={
            <>
              As <code>verifier</code> of the API: see{' '}
              <a href="/docs#createSource">the reference</a>.
            </>
          }
          rows={8}
          value={choice.json}
          onChange={(json) => onChange({ ...choice, json })}
          fault={fault('verifier')}
        />
      )}
      {choice.preset === NONE && (
        <p className="notice busy">Anybody who knows the address can send events to this source.</p>
      )}
    </>
  )
}

function Need({
  need,
  preset,
  keeps,
  value,
  onChange,
  fault,
}: {
  need: string
  preset: Preset
  keeps: boolean
  value: string
  onChange: (value: string) => void
  fault: string | undefined
}) {
  const shared = { label: labelOf(need), value, onChange, fault, isMono: true }
  if (isList(need)) return <AreaField {...shared} rows={3} />
  if (need !== 'secret') return <TextField {...shared} required />
  return (
    <>
      <TextField
        {...shared}
        autoComplete="off"
        required={!keeps}
        hint={keeps ? 'Left empty: the stored one stays.' : 'Stored sealed, and never shown again.'}
      />
      <button type="button" className="button" onClick={() => onChange(randomSecret(preset.type))}>
        Make a random secret
      </button>
    </>
  )
}

function optionsOf(presets: readonly Preset[]): (readonly [string, string])[] {
  const named = presets
    .map(({ preset }) => [preset, providerName(preset)] as const)
    .toSorted(([, one], [, other]) => one.localeCompare(other))
  const popular = POPULAR.flatMap((name) => named.filter(([preset]) => preset === name))
  return [
    [NONE, 'Anything, without verification'],
    ...popular,
    ...named.filter((each) => !popular.includes(each)),
    [CUSTOM, 'Another way, written as JSON'],
  ]
}
