import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { SeenConnector } from '../../core/db/connectors/connectors.ts'
import { encodeId } from '../../core/ids.ts'
import { ALLOWED_HOST_LENGTH_MAX, ALLOWED_HOSTS_MAX } from '../../core/limits.ts'
import { Id, Metadata, Name, ShownName, Timestamp, moment } from '../http/fields.ts'

const HOSTS =
  'Hosts that the agents may reach; their own lists must allow them too. `*.` at the front stands for any name below. An empty list adds no restriction.'

export const ShownHosts = z.array(z.string()).describe(HOSTS)

export const Connector = z
  .object({
    id: Id('cnr').describe('Begins with `cnr_`; private destinations name it as `connectorId`.'),
    projectId: Id('prj').describe('The project whose private destinations it may serve.'),
    name: ShownName.describe('Its name, which is unique in the project.'),
    isDisabled: z
      .boolean()
      .describe('A disabled connector has no sessions: deliveries through it wait.'),
    provisionedAt: Timestamp.nullable().describe(
      'When a gateway took the connector over, a second after its creation at most; null before.',
    ),
    allowedHosts: ShownHosts,
    onlineReplicas: z.int().describe('How many replicas have a session at a gateway now.'),
    lastSeenAt: Timestamp.nullable().describe('When a replica last reported; null if none has.'),
    metadata: Metadata,
    createdAt: Timestamp.describe('When it was created.'),
    updatedAt: Timestamp.describe('When it was last changed.'),
  })
  .meta({
    id: 'Connector',
    description: 'A way to destinations in a private network, through agents that run there.',
  })

const EnrollmentKey = z
  .string()
  .describe('The key that agents enrol with, `pst_enr_…`. Only this answer shows it.')

export const CreatedConnector = Connector.extend({ enrollmentKey: EnrollmentKey }).meta({
  id: 'CreatedConnector',
  description: 'A new connector with its enrolment key.',
})

export const Enrollment = z
  .object({ enrollmentKey: EnrollmentKey })
  .meta({ id: 'Enrollment', description: 'The new enrolment key of a connector.' })

const AllowedHost = z
  .string()
  .min(1)
  .max(ALLOWED_HOST_LENGTH_MAX, { abort: true })
  .refine((text) => !/[\s\p{Cc}]/u.test(text), 'Expected no blanks and no control characters')

const changeable = {
  name: Name.describe('A name of your choice, unique in the project.'),
  allowedHosts: z
    .array(AllowedHost)
    .max(ALLOWED_HOSTS_MAX)
    .nullable()
    .describe(`${HOSTS} At most ${ALLOWED_HOSTS_MAX}; null is an empty list.`),
  metadata: Metadata.nullable().describe('Your own texts about it; null is none.'),
}

const Changes = z
  .strictObject(changeable)
  .partial()
  .meta({ id: 'ConnectorChanges', description: 'The members to change; the others stay.' })

export type ConnectorChanges = z.output<typeof Changes>

export const ConnectorCreate = Changes.required({ name: true }).meta({
  id: 'ConnectorCreate',
  description: 'A connector to create.',
  examples: [{ name: 'office' }],
})

export const ConnectorUpsert = ConnectorCreate.partial({ name: true }).meta({
  id: 'ConnectorUpsert',
  description: 'A whole connector. The path names it; `name`, if given, must be the same.',
  examples: [{ allowedHosts: ['billing.internal'] }],
})

export const ConnectorUpdate = z
  .strictObject({ data: Changes })
  .meta({ id: 'ConnectorUpdate', description: 'A change of a connector.' })

export const ConnectorToggle = z
  .strictObject({
    isDisabled: z.boolean().describe('True ends its sessions and refuses new ones.'),
  })
  .meta({ id: 'ConnectorToggle', description: 'Whether a connector is disabled.' })

export function viewConnector(row: SeenConnector): z.input<typeof Connector> {
  return {
    id: encodeId('cnr', row.id),
    projectId: encodeId('prj', row.projectId),
    name: row.name,
    isDisabled: row.isDisabled,
    provisionedAt: moment(row.provisionedAt),
    allowedHosts: row.allowedHosts,
    onlineReplicas: row.onlineReplicas,
    lastSeenAt: moment(row.lastSeenAt),
    metadata: row.metadata,
    createdAt: timestamp(row.createdAt.getTime()),
    updatedAt: timestamp(row.updatedAt.getTime()),
  }
}
