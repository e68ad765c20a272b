import { z } from 'zod'

import { all, PosternError } from '../../clients/typescript/index.ts'
import type { Api } from './api.ts'
import type { ListenOptions } from './options.ts'

const Source = z.object({
  id: z.string(),
  name: z.string(),
  ingestUrl: z.string(),
  eventTypeField: z.string().nullable(),
  verifier: z.looseObject({ type: z.string(), preset: z.string().optional() }),
})
const Connector = z.object({
  id: z.string(),
  isDisabled: z.boolean(),
  enrollmentKey: z.string().optional(),
})
const WithId = z.object({ id: z.string() })
const Enrollment = z.object({ enrollmentKey: z.string() })

export type Source = z.infer<typeof Source>
export type Connector = z.infer<typeof Connector>

interface Wish {
  name: string
  options: ListenOptions
  secret: string | undefined
}

/** Makes the connector of this machine, or takes it up; enabled, whatever it was. */
export async function openConnector(api: Api, name: string): Promise<Connector> {
  const connector = Connector.parse(await api.upsertConnector({ name }))
  if (!connector.isDisabled) return connector
  await api.toggleConnector({ id: connector.id, body: { isDisabled: false } })
  return { ...connector, isDisabled: false }
}

/** A new enrolment key; replicas that have enrolled go on. */
export async function newEnrolmentKey(api: Api, connectorId: string): Promise<string> {
  const answer = await api.regenerateEnrollment({ id: connectorId })
  return Enrollment.parse(answer).enrollmentKey
}

/** Makes or takes up the source, and sends its events through the connector to the local server. */
export async function openRoute(api: Api, connectorId: string, wish: Wish): Promise<Source> {
  const { name, options } = wish
  const source = await openSource(api, wish)
  const destination = WithId.parse(
    await api.upsertDestination({
      name,
      body: { mode: 'private', connectorId, url: options.target.href, isEnabled: true },
    }),
  )
  await api.upsertConnection({
    name,
    body: {
      sourceId: source.id,
      destinationId: destination.id,
      isEnabled: true,
      filter: options.events.length === 0 ? null : { eventTypes: options.events },
    },
  })
  return source
}

async function openSource(api: Api, { name, options, secret }: Wish): Promise<Source> {
  const { source: wanted, preset } = options
  const found = wanted === undefined ? undefined : await findSource(api, wanted)
  if (found !== undefined) {
    if (preset === undefined) return found
    if (found.verifier.preset !== preset) {
      throw new Error(
        `The source "${found.name}" does not verify as ${preset}: leave --preset out, or name another --source`,
      )
    }
    if (secret === undefined) return found
    const data = { verifier: { preset, secret } }
    return Source.parse(await api.updateSource({ id: found.id, body: { data } }))
  }
  const verifier =
    preset === undefined
      ? { type: 'none' as const }
      : { preset, ...(secret !== undefined && { secret }) }
  // Most providers without a preset have a type in the body too.
  const field = preset === undefined ? { eventTypeField: 'body.type' } : {}
  try {
    const body = { verifier, ...field, isEnabled: true }
    return Source.parse(await api.upsertSource({ name: wanted ?? name, body }))
  } catch (error) {
    if (!(error instanceof PosternError) || preset === undefined || secret !== undefined)
      throw error
    if (!JSON.stringify([error.message, error.fields]).includes('secret')) throw error
    throw new Error(
      `${preset} signs with a secret: put it into a file and add --secret-file FILE, or set POSTERN_SOURCE_SECRET`,
      { cause: error },
    )
  }
}

async function findSource(api: Api, name: string): Promise<Source | undefined> {
  for await (const one of all(api.listSources, { sortBy: 'name' })) {
    if (z.object({ name: z.literal(name) }).safeParse(one).success) return Source.parse(one)
  }
  return undefined
}
