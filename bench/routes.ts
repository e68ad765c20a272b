import { randomUUID } from 'node:crypto'

import type { Installation } from './installation.ts'
import type { Target } from './traffic.ts'

const SECRET = 'bench-secret'

/** Requests to the API at once while routes are made. */
const MADE_AT_ONCE = 8

export interface RouteOptions {
  /** Connections of each source, each to a destination of its own. */
  fanOut: number
  bodyBytes: number
  /** Sources that events go to in turn. */
  sources?: number
  /** Where destinations are, in turn. */
  urls: readonly string[]
  /** Members of each destination beside those that all have. */
  destination?: object
}

export interface Routes {
  target: Target
  destinationIds: readonly string[]
}

/** Everything that an event can meet is on: verification, deduplication, an event-type and a body filter. */
export async function addRoutes(
  installation: Installation,
  { fanOut, bodyBytes, sources = 1, urls, destination = {} }: RouteOptions,
): Promise<Routes> {
  const ingestUrls: URL[] = []
  const destinationIds: string[] = []
  let made = 0
  const addNext = async (): Promise<void> => {
    while (made < sources) {
      const index = made++
      const source = await addSource(installation)
      ingestUrls[index] = new URL(String(source['ingestUrl']))
      for (let n = 0; n < fanOut; n++) {
        const url = urls[(index * fanOut + n) % urls.length]
        const members = { url, maxConcurrency: 64, ...destination }
        destinationIds.push(await addDestination(installation, source['id'], members))
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(sources, MADE_AT_ONCE) }, addNext))
  const [url] = ingestUrls
  if (url === undefined) throw new Error('No source was made')
  const target = { url, secret: SECRET, bodyBytes, paths: ingestUrls.map((one) => one.pathname) }
  return { target, destinationIds }
}

async function addSource(installation: Installation): Promise<Record<string, unknown>> {
  return await installation.call('POST', '/v1/sources', {
    name: newName(),
    verifier: { preset: 'github', secret: SECRET },
    eventTypeField: 'header.x-github-event',
    idempotencyKeys: ['header.x-github-delivery'],
    maxPayloadSizeKb: 5_120,
  })
}

async function addDestination(
  installation: Installation,
  sourceId: unknown,
  members: object,
): Promise<string> {
  const { id } = await installation.call('POST', '/v1/destinations', {
    name: newName(),
    ...members,
  })
  await installation.call('POST', '/v1/connections', {
    name: newName(),
    sourceId,
    destinationId: id,
    filter: { eventTypes: ['push'], body: { number: { $startsWith: '0' } } },
  })
  return String(id)
}

/** Names are unique in a project. */
function newName(): string {
  return `bench ${randomUUID()}`
}
