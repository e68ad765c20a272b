import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { SeenReplica } from '../../core/db/connectors/replicas.ts'
import { encodeId } from '../../core/ids.ts'
import { Id, Moment, ShownName, Timestamp } from '../http/fields.ts'
import { ListQuery } from '../http/list.ts'
import { ShownHosts } from './shape.ts'

const INSTANCE_NAME_LENGTH_MAX = 253
const VERSION_LENGTH_MAX = 100
const CAPABILITIES_MAX = 50
const COUNT_MAX = 1_000_000
/** A century: longer than any clock is wrong about. */
const UPTIME_SECONDS_MAX = 3_155_760_000
const isPlain = (text: string): boolean => !/\p{Cc}/u.test(text)
const PLAIN_FAULT = 'Expected no control characters'

export const Replica = z
  .object({
    id: Id('rpl').describe('Begins with `rpl_`; attempts that it carried name it.'),
    connectorId: Id('cnr').describe('The connector that it belongs to.'),
    name: ShownName.describe('The `instanceName` that the agent enrolled with.'),
    version: z.string().describe('The version of the agent.'),
    remoteIp: z.string().describe('The address of its last report.'),
    status: z
      .enum(['online', 'offline', 'revoked'])
      .describe('`online`: it has a session at a gateway. `revoked`: gateways refuse it.'),
    startedAt: Timestamp.describe('When the agent was started.'),
    lastHeartbeatAt: Timestamp.describe('When it last reported.'),
    inFlight: z.int().describe('Requests in flight at its last report.'),
    createdAt: Timestamp.describe('When it enrolled.'),
  })
  .meta({ id: 'Replica', description: 'An agent that has enrolled for a connector.' })

/** A replica is never changed, so that there is no `updatedAt` to sort by. */
export const ReplicaListQuery = ListQuery.extend({
  sortBy: z.enum(['createdAt', 'name']).default('createdAt').describe('The member to sort by.'),
})

export const Bootstrap = z
  .strictObject({
    instanceName: z
      .string()
      .min(1)
      .max(INSTANCE_NAME_LENGTH_MAX, { abort: true })
      .refine(isPlain, PLAIN_FAULT)
      .describe(
        'Names this agent among those of its connector. It stays the same across restarts.',
      ),
    version: z
      .string()
      .min(1)
      .max(VERSION_LENGTH_MAX, { abort: true })
      .refine(isPlain, PLAIN_FAULT)
      .describe('The version of the agent.'),
    startedAt: Moment.describe('When the agent was started.'),
    capabilities: z
      .array(z.string().min(1).max(VERSION_LENGTH_MAX))
      .max(CAPABILITIES_MAX)
      .optional()
      .describe('Abilities of the agent beyond the first version of the tunnel.'),
  })
  .meta({
    id: 'Bootstrap',
    description: 'An agent that enrols.',
    examples: [
      { instanceName: 'office-0', version: '0.1.0', startedAt: '2026-11-20T09:00:00.000Z' },
    ],
  })

const interval = z.int().describe('Seconds until the next report is due.')
const gatewayUrl = z
  .string()
  .describe('The origin of the gateways; agents dial `/v1/tunnel` there.')
const isDisabled = z.boolean().describe('The connector is disabled: gateways refuse sessions.')

export const Bootstrapped = z
  .object({
    connectorId: Id('cnr').describe('The connector that the key is for.'),
    replicaId: Id('rpl').describe('The id of this agent from now on.'),
    heartbeatToken: z
      .string()
      .describe('The token of this agent, `pst_hb_…`, for reports and for the tunnel.'),
    heartbeatIntervalSeconds: interval,
    gatewayUrl,
    allowedHosts: ShownHosts,
  })
  .meta({
    id: 'Bootstrapped',
    description: 'The identity of an agent and the address that it dials.',
  })

export const Heartbeat = z
  .strictObject({
    inFlight: z.int().min(0).max(COUNT_MAX).describe('Requests in flight in the agent.'),
    sessions: z.int().min(0).max(COUNT_MAX).describe('Sessions that it has at gateways.'),
    uptimeSeconds: z
      .number()
      .min(0)
      .max(UPTIME_SECONDS_MAX)
      .describe('Seconds since the agent was started.'),
  })
  .meta({
    id: 'Heartbeat',
    description: 'A report of an agent.',
    examples: [{ inFlight: 0, sessions: 2, uptimeSeconds: 60 }],
  })

export const HeartbeatAnswer = z
  .object({
    heartbeatIntervalSeconds: interval,
    gatewayUrl,
    allowedHosts: ShownHosts,
    isDisabled,
  })
  .meta({
    id: 'HeartbeatAnswer',
    description: 'The settings that the agent works under from now on.',
  })

export function viewReplica(row: SeenReplica): z.input<typeof Replica> {
  return {
    id: encodeId('rpl', row.id),
    connectorId: encodeId('cnr', row.connectorId),
    name: row.name,
    version: row.version,
    remoteIp: row.remoteIp,
    status: row.revokedAt === null ? (row.isOnline ? 'online' : 'offline') : 'revoked',
    startedAt: timestamp(row.startedAt.getTime()),
    lastHeartbeatAt: timestamp(row.lastHeartbeatAt.getTime()),
    inFlight: row.inFlight,
    createdAt: timestamp(row.createdAt.getTime()),
  }
}
