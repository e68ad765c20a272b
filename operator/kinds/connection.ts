import { z } from 'zod'

import { applied } from './applied.ts'
import {
  conditions,
  declared,
  displayName,
  fixed,
  LAST_COLUMNS,
  metadata,
  objectName,
  observedGeneration,
  openObject,
  ownKind,
  READY_COLUMN,
  rules,
} from './parts.ts'

const end = (kind: string): z.ZodOptional<z.ZodObject<{ name: z.ZodString }>> =>
  z
    .object({ name: objectName.describe(`The name of a ${kind} in the same namespace.`) })
    .optional()
    .describe(`The ${kind} by its object.`)

export const ConnectionSpec = z
  .object({
    ...declared,
    displayName: displayName
      .optional()
      .describe('The name in the relay, unique in the project; that of the object by default.'),
    sourceRef: end('Source'),
    sourceId: z.string().max(40).optional().describe('The source by its id in the relay.'),
    destinationRef: end('Destination'),
    destinationId: z
      .string()
      .max(40)
      .optional()
      .describe('The destination by its id in the relay.'),
    enabled: z.boolean().default(true).describe('A disabled connection gets no new deliveries.'),
    filter: openObject('The condition for events, as the API has it.').optional(),
    metadata,
  })
  .meta({
    description: 'The rule that sends the events of a source to a destination.',
    ...rules(
      ...fixed('projectId'),
      {
        rule: 'has(self.sourceRef) != has(self.sourceId)',
        message: 'a connection has either sourceRef or sourceId',
      },
      {
        rule: 'has(self.destinationRef) != has(self.destinationId)',
        message: 'a connection has either destinationRef or destinationId',
      },
    ),
  })

const ConnectionStatus = z
  .object({
    observedGeneration,
    connectionId: z.string().max(40).optional().describe('The id of the connection in the relay.'),
    applied,
    conditions,
  })
  .describe('The connection as the operator last saw it.')

export const CONNECTION = ownKind({
  kind: 'Connection',
  plural: 'connections',
  shortNames: ['pcxn'],
  description: 'A connection of the relay.',
  spec: ConnectionSpec,
  status: ConnectionStatus,
  columns: [
    READY_COLUMN,
    { name: 'Source', type: 'string', jsonPath: '.spec.sourceRef.name' },
    { name: 'Destination', type: 'string', jsonPath: '.spec.destinationRef.name' },
    { name: 'Connection-Id', type: 'string', jsonPath: '.status.connectionId', priority: 1 },
    ...LAST_COLUMNS,
  ],
  selectable: ['.spec.relayRef.name', '.spec.sourceRef.name', '.spec.destinationRef.name'],
})
