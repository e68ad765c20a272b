import { z } from 'zod'

import { type Api, Refused } from './api.ts'
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
const Page = z.object({ data: z.array(z.unknown()), nextCursor: z.string().nullable() })

export type Source = z.infer<typeof Source>
export type Connector = z.infer<typeof Connector>

interface Wish {
  name: string
  options: ListenOptions
  secret: string | undefined
}

/** Makes the connector of this machine, or takes it up; enabled, whatever it was. */
export async function openConnector(api: Api, name: string): Promise<Connector> {
  const connector = Connector.parse(await api('PUT', `connectors/by-name/${inPath(name)}`, {}))
  if (!connector.isDisabled) return connector
  await api('POST', `connectors/${connector.id}/toggle-disabled`, { isDisabled: false })
  return { ...connector, isDisabled: false }
}

/** A new enrolment key; replicas that have enrolled go on. */
export async function newEnrolmentKey(api: Api, connectorId: string): Promise<string> {
  const answer = await api('POST', `connectors/${connectorId}/regenerate-enrollment`)
  return Enrollment.parse(answer).enrollmentKey
}

/** Makes or takes up the source, and sends its events through the connector to the local server. */
export async function openRoute(api: Api, connectorId: string, wish: Wish): Promise<Source> {
  const { name, options } = wish
  const source = await openSource(api, wish)
  const destination = WithId.parse(
    await api('PUT', `destinations/by-name/${inPath(name)}`, {
      mode: 'private',
      connectorId,
      url: options.target.href,
      isEnabled: true,
    }),
  )
  await api('PUT', `connections/by-name/${inPath(name)}`, {
    sourceId: source.id,
    destinationId: destination.id,
    isEnabled: true,
    filter: options.events.length === 0 ? null : { eventTypes: options.events },
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
    const changed = await api('PATCH', `sources/${found.id}`, {
      data: { verifier: { preset, secret } },
    })
    return Source.parse(changed)
  }
  const verifier = preset === undefined ? { type: 'none' } : { preset, secret }
  // Most providers without a preset have a type in the body too.
  const field = preset === undefined ? { eventTypeField: 'body.type' } : {}
  const path = `sources/by-name/${inPath(wanted ?? name)}`
  try {
    return Source.parse(await api('PUT', path, { verifier, ...field, isEnabled: true }))
  } catch (error) {
    if (!(error instanceof Refused) || preset === undefined || secret !== undefined) throw error
    if (!error.message.includes('secret')) throw error
    throw new Error(
      `${preset} signs with a secret: put it into a file and add --secret-file FILE, or set POSTERN_SOURCE_SECRET`,
      { cause: error },
    )
  }
}

async function findSource(api: Api, name: string): Promise<Source | undefined> {
  let cursor: string | null = null
  do {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = Page.parse(await api('GET', `sources?limit=100&sortBy=name${after}`))
    const found = page.data.find(
      (one) => z.object({ name: z.literal(name) }).safeParse(one).success,
    )
    if (found !== undefined) return Source.parse(found)
    cursor = page.nextCursor
  } while (cursor !== null)
  return undefined
}

function inPath(name: string): string {
  return encodeURIComponent(name)
}
