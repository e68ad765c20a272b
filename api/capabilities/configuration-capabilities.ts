import { z } from 'zod'

import { FilterMatch } from '../connections/filter-routes.ts'
import { Connection } from '../connections/shape.ts'
import { Connector } from '../connectors/shape.ts'
import { Destination } from '../destinations/shape.ts'
import { Id } from '../http/fields.ts'
import { Source } from '../sources/shape.ts'
import { Diagnosis } from '../sources/verification-routes.ts'
import { reads, type Capability } from './capability.ts'
import { listed, NextCursor, Page, When } from './inputs.ts'
import { urlWithoutSecrets } from './redaction.ts'

/** Any JSON object, where the whole of its schema would be longer than all answers. */
const Any = z.record(z.string(), z.unknown())

const ShownSource = Source.omit({ projectId: true, maskId: true, secretHint: true }).extend({
  verifier: Any.describe('How requests are verified, without the secret.'),
  ingestResponse: Any.describe('The answer to the sender of a webhook.'),
})
const ShownDestination = Destination.omit({ projectId: true }).extend({
  auth: Any.describe('How Postern proves itself to the destination, without secrets.'),
})
const ShownConnection = Connection.omit({ projectId: true }).extend({
  filter: Any.nullable().describe('The condition for events; null matches every event.'),
})
const ShownConnector = Connector.omit({ projectId: true })

const COMMON = { id: true, name: true } as const

function withoutSecrets<T extends { url: string }>(destination: T): T {
  return { ...destination, url: urlWithoutSecrets(destination.url) }
}

/** All but the words and the question of a list. */
function pageOf<T extends z.ZodObject>(
  resource: 'sources' | 'destinations' | 'connections' | 'connectors',
  item: T,
) {
  return {
    permission: { resource, level: 'read' },
    input: z.strictObject(Page),
    output: z.object({
      data: z.array(item).describe(`The ${resource} of this page, the newest first.`),
      nextCursor: NextCursor,
    }),
  } as const
}

export const CONFIGURATION_CAPABILITIES: readonly Capability[] = [
  reads({
    name: 'sources.list',
    title: 'List sources',
    description: 'Lists the sources: the addresses that providers send their webhooks to.',
    ...pageOf(
      'sources',
      ShownSource.pick({ ...COMMON, isEnabled: true, ingestUrl: true, lastEventAt: true }),
    ),
    async run({ input: query, ask }) {
      return await ask('listSources', { query }, listed(Source))
    },
  }),
  reads({
    name: 'sources.get',
    title: 'Read a source',
    description: 'Reads a source with its verifier, without secrets.',
    permission: { resource: 'sources', level: 'read' },
    input: z.strictObject({ sourceId: Id('src').describe('The source.') }),
    output: ShownSource,
    async run({ input, ask }) {
      return await ask('getSource', { params: { id: input.sourceId } }, Source)
    },
  }),
  reads({
    name: 'sources.test_signature',
    title: 'Test a signature',
    description:
      'Tells whether a source would accept a request, and why not. Runs the verification of ingest and stores nothing.',
    permission: { resource: 'sources', level: 'write' },
    input: z.strictObject({
      sourceId: Id('src').describe('The source.'),
      headers: z
        .record(z.string(), z.union([z.string(), z.array(z.string())]))
        .describe('The headers of the request by their names; an array for one that is repeated.'),
      body: z.string().optional().describe('Its body as text; or give bodyBase64.'),
      bodyBase64: z.string().optional().describe('Its body in base64; or give body.'),
      method: z.string().optional().describe('Its method; POST by default.'),
      url: z.string().optional().describe('Its URL; that of the source by default.'),
      now: When.optional().describe('The time at which to verify; now by default.'),
    }),
    output: Diagnosis,
    async run({ input: { sourceId, ...body }, ask }) {
      const question = { params: { id: sourceId }, body }
      return await ask('testSignature', question, Diagnosis)
    },
  }),
  reads({
    name: 'destinations.list',
    title: 'List destinations',
    description: 'Lists the destinations: the endpoints that webhooks are delivered to.',
    ...pageOf(
      'destinations',
      ShownDestination.pick({
        ...COMMON,
        mode: true,
        url: true,
        isEnabled: true,
        disabledReason: true,
        health: true,
      }),
    ),
    async run({ input: query, ask }) {
      const page = await ask('listDestinations', { query }, listed(Destination))
      return { ...page, data: page.data.map(withoutSecrets) }
    },
  }),
  reads({
    name: 'destinations.get',
    title: 'Read a destination',
    description: 'Reads a destination with its pace, retry policy and health, without secrets.',
    permission: { resource: 'destinations', level: 'read' },
    input: z.strictObject({ destinationId: Id('dst').describe('The destination.') }),
    output: ShownDestination,
    async run({ input, ask }) {
      const params = { id: input.destinationId }
      return withoutSecrets(await ask('getDestination', { params }, Destination))
    },
  }),
  reads({
    name: 'connections.list',
    title: 'List connections',
    description: 'Lists the connections: the rules that send events of a source to a destination.',
    ...pageOf(
      'connections',
      ShownConnection.pick({ ...COMMON, sourceId: true, destinationId: true, isEnabled: true }),
    ),
    async run({ input: query, ask }) {
      return await ask('listConnections', { query }, listed(Connection))
    },
  }),
  reads({
    name: 'connections.get',
    title: 'Read a connection',
    description: 'Reads a connection with its filter.',
    permission: { resource: 'connections', level: 'read' },
    input: z.strictObject({ connectionId: Id('con').describe('The connection.') }),
    output: ShownConnection,
    async run({ input, ask }) {
      return await ask('getConnection', { params: { id: input.connectionId } }, Connection)
    },
  }),
  reads({
    name: 'connections.test_filter',
    title: 'Test a filter',
    description:
      'Tells whether a filter lets a stored event, or a sample, pass, and which condition failed. Changes nothing.',
    permission: { resource: 'connections', level: 'read' },
    input: z.strictObject({
      filter: Any.describe(
        'The filter: eventTypes, headers, query, body, such as {"body":{"amount":{"$gte":100}}}.',
      ),
      eventId: Id('evt').optional().describe('A stored event; or give sample.'),
      sample: Any.optional().describe(
        'An event that is made up: eventType, headers, query, body; or give eventId.',
      ),
    }),
    output: FilterMatch,
    async run({ input: body, ask }) {
      return await ask('testFilter', { body }, FilterMatch)
    },
  }),
  reads({
    name: 'connectors.list',
    title: 'List connectors',
    description: 'Lists the connectors: the ways to private destinations.',
    ...pageOf(
      'connectors',
      ShownConnector.pick({ ...COMMON, isDisabled: true, onlineReplicas: true, lastSeenAt: true }),
    ),
    async run({ input: query, ask }) {
      return await ask('listConnectors', { query }, listed(Connector))
    },
  }),
  reads({
    name: 'connectors.get',
    title: 'Read a connector',
    description: 'Reads a connector with its hosts and its replicas that are online.',
    permission: { resource: 'connectors', level: 'read' },
    input: z.strictObject({ connectorId: Id('cnr').describe('The connector.') }),
    output: ShownConnector,
    async run({ input, ask }) {
      return await ask('getConnector', { params: { id: input.connectorId } }, Connector)
    },
  }),
]
