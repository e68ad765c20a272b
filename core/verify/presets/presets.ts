import { z } from 'zod'

import { ShortForm } from '../config/config-parts.ts'
import type { IngestResponse } from '../config/ingest-response.ts'
import { bodyAuthenticated, VerifierConfig } from '../config/verifier-config.ts'
import { BODY_MAC_PRESETS } from './body-mac-presets.ts'
import type { HandshakeKind, Preset } from './preset.ts'
import { PUBLIC_KEY_PRESETS } from './public-key-presets.ts'
import { SHARED_SECRET_PRESETS } from './shared-secret-presets.ts'
import { STANDARD_WEBHOOKS_PRESETS } from './standard-webhooks-presets.ts'
import { TEMPLATED_MAC_PRESETS } from './templated-mac-presets.ts'

/** Every provider known by name, in alphabetical order. */
export const PRESETS: ReadonlyMap<string, Preset> = new Map(
  Object.entries({
    ...STANDARD_WEBHOOKS_PRESETS,
    ...BODY_MAC_PRESETS,
    ...TEMPLATED_MAC_PRESETS,
    ...PUBLIC_KEY_PRESETS,
    ...SHARED_SECRET_PRESETS,
  }).toSorted(([a], [b]) => a.localeCompare(b, 'en')),
)

/** An entry of `GET /v1/verifier-presets`. */
export interface PresetEntry {
  preset: string
  type: string
  /** The members that the short form still needs; `handshake.` ones are members of the source. */
  needs: string[]
  config: Readonly<Record<string, unknown>>
  handshake: HandshakeKind | null
  ingestResponse: IngestResponse
  allowedMethods: string[]
  eventTypeField: string | null
  idempotencyKeys: string[]
  /** The idempotency keys are no suggestion: without them a request can be sent again. */
  forcesIdempotencyKeys: boolean
  bodyAuthenticated: boolean
}

export function listPresets(): PresetEntry[] {
  return [...PRESETS].map(([name, preset]) => ({
    preset: name,
    type: preset.config.type,
    needs: [...(needsSecret(preset) ? ['secret'] : []), ...(preset.needs ?? [])],
    config: preset.config,
    handshake: preset.handshake ?? null,
    ingestResponse: preset.ingestResponse ?? { kind: 'default' },
    allowedMethods: [...(preset.allowedMethods ?? ['POST'])],
    eventTypeField: preset.eventTypeField ?? null,
    idempotencyKeys: [...(preset.idempotencyKeys ?? [])],
    forcesIdempotencyKeys: preset.forcesIdempotencyKeys ?? false,
    bodyAuthenticated: authenticatesBody(preset),
  }))
}

export function presetOf(config: { preset?: string | undefined }): Preset | undefined {
  return config.preset === undefined ? undefined : PRESETS.get(config.preset)
}

/**
 * The short form `{ preset, secret, ...members }` as a full configuration: members given besides win, member by
 * member. Anything without a preset passes as it is; the members of an `all_of` are expanded each.
 */
export function expandPreset(input: unknown): unknown {
  if (!isRecord(input)) return input
  const preset = typeof input['preset'] === 'string' ? PRESETS.get(input['preset']) : undefined
  const expanded = preset === undefined ? input : merged({ ...preset.config }, input)
  const { verifiers } = expanded
  return Array.isArray(verifiers)
    ? { ...expanded, verifiers: verifiers.map((member) => expandPreset(member)) }
    : expanded
}

/** The `verifier` that the API accepts: any full configuration, or the short form. */
export const VerifierInput = z
  .preprocess((input, context) => {
    for (const { name, path } of presetNames(input)) {
      if (PRESETS.has(name)) continue
      context.addIssue({ code: 'custom', path, message: `there is no preset "${name}"`, input })
    }
    return expandPreset(input)
  }, VerifierConfig)
  .meta({
    id: 'VerifierInput',
    description: 'How requests are verified: in full by its `type`, or short by its `preset`.',
    shortForm: ShortForm,
  })

function presetNames(input: unknown): { name: string; path: (string | number)[] }[] {
  if (!isRecord(input)) return []
  const { preset, verifiers } = input
  const own = typeof preset === 'string' ? [{ name: preset, path: ['preset'] }] : []
  const members = Array.isArray(verifiers) ? verifiers : []
  const nested = members.flatMap((member, index) =>
    isRecord(member) && typeof member['preset'] === 'string'
      ? [{ name: member['preset'], path: ['verifiers', index, 'preset'] }]
      : [],
  )
  return [...own, ...nested]
}

function merged(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const own = Object.entries(over).map(([name, value]): [string, unknown] => {
    const given = Object.hasOwn(base, name) ? base[name] : undefined
    return [name, isRecord(given) && isRecord(value) ? merged(given, value) : value]
  })
  return { ...base, ...Object.fromEntries(own) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the provider hands its secret over by a handshake, so that the source may begin without one. */
export function handsOverSecret(preset: Preset | undefined): boolean {
  return preset?.handshake === 'asana' || preset?.handshake === 'notion'
}

function needsSecret(preset: Preset): boolean {
  const { config } = preset
  if (handsOverSecret(preset)) return false
  if (config.type === 'jwt') return config.keySource?.kind !== 'jwks'
  return config.type !== 'public_key' && config.type !== 'aws_sns'
}

function authenticatesBody({ config }: Preset): boolean {
  const parsed = VerifierConfig.safeParse(config)
  if (parsed.success) return bodyAuthenticated(parsed.data)
  return config.type === 'jwt' && config.bodyHash !== undefined
}
