import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { sentAlerts } from '../../core/db/alerts/alert-deliveries.ts'
import {
  ALERT_DESTINATION_NAME,
  findAlertEndpoint,
  lockInternalProject,
} from '../../core/db/alerts/alert-endpoint.ts'
import type { Destination } from '../../core/db/configuration/destinations.ts'
import type { RetryPolicy } from '../../core/delivery/retry.ts'
import { refuse } from '../../core/errors.ts'
import { encodeId, newId } from '../../core/ids.ts'
import { ALERT_TELLINGS_SHOWN } from '../../core/limits.ts'
import { Attempt } from '../deliveries/attempt-shape.ts'
import {
  RotatedSigningSecret,
  revealSecret,
  rotateSecret,
  SigningSecret,
  SigningSecretRotation,
} from '../destinations/action-routes.ts'
import { changeDestination, newDestination } from '../destinations/change.ts'
import { removeDestination } from '../destinations/remove.ts'
import { DESTINATION } from '../destinations/resource.ts'
import { sendTest } from '../destinations/test-delivery.ts'
import { Url } from '../destinations/url.ts'
import { Id, NoMembers } from '../http/fields.ts'
import { route, type Call } from '../http/route.ts'
import { transact } from '../writes/transact.ts'
import { note } from '../writes/write-resource.ts'
import { AlertEndpointShape, viewEndpoint } from './shape.ts'

const tag = 'Alerts'
const noQuery = z.strictObject({})
const read = { resource: 'destinations', level: 'read' } as const
/** Where the news of an organisation goes is for owners and admins to say. */
const decide = { resource: 'destinations', level: 'write', isExplicit: true } as const

/** An alert that is late by more than eight hours is no news: 8 attempts. (dashboard: Alerts, Mechanics) */
const RETRY_POLICY: RetryPolicy = {
  strategy: 'schedule',
  scheduleSeconds: [5, 60, 300, 1_800, 3_600, 7_200, 14_400],
  maxAttempts: 8,
}

const EndpointAnswer = z.object({ endpoint: AlertEndpointShape.nullable() })

/** The address that the alerts of an organisation go to. */
export const ALERT_ENDPOINT_ROUTES = [
  route({
    method: 'GET',
    path: '/alerts/endpoint',
    operationId: 'getAlertEndpoint',
    tag,
    summary: 'Show where alerts go, and how the last ones arrived',
    permission: read,
    scope: 'project',
    params: {},
    query: noQuery,
    body: null,
    responses: { 200: EndpointAnswer },
    errors: [],
    async handle({ deps, reach }) {
      const found = await findAlertEndpoint(deps.db, reach.organisationId)
      if (found === undefined) return { status: 200, body: { endpoint: null } }
      const sent = await sentAlerts(deps.db, found.destination.id, ALERT_TELLINGS_SHOWN)
      return { status: 200, body: { endpoint: viewEndpoint(found.destination, sent) } }
    },
  }),
  route({
    method: 'PUT',
    path: '/alerts/endpoint',
    operationId: 'setAlertEndpoint',
    tag,
    summary: 'Send alerts to this address',
    permission: decide,
    scope: 'project',
    params: {},
    query: noQuery,
    body: z.strictObject({ url: Url }),
    responses: { 200: EndpointAnswer },
    errors: [],
    async handle(call) {
      const destination = await setEndpoint(call)
      const sent = await sentAlerts(call.deps.db, destination.id, ALERT_TELLINGS_SHOWN)
      return { status: 200, body: { endpoint: viewEndpoint(destination, sent) } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/alerts/endpoint',
    operationId: 'deleteAlertEndpoint',
    tag,
    summary: 'Send alerts to no address any more',
    permission: decide,
    scope: 'project',
    params: {},
    query: noQuery,
    body: null,
    responses: { 204: null },
    errors: [],
    async handle(call) {
      await removeDestination({ ...(await ofEndpoint(call)), query: { cascade: true } })
      return { status: 204 }
    },
  }),
  route({
    method: 'GET',
    path: '/alerts/endpoint/signing-secret',
    operationId: 'getAlertSigningSecret',
    tag,
    summary: 'Reveal the secret that alerts are signed with',
    permission: decide,
    scope: 'project',
    isSecret: true,
    params: {},
    query: noQuery,
    body: null,
    responses: { 200: SigningSecret },
    errors: [],
    async handle(call) {
      return { status: 200, body: await revealSecret(await ofEndpoint(call)) }
    },
  }),
  route({
    method: 'POST',
    path: '/alerts/endpoint/rotate-signing-secret',
    operationId: 'rotateAlertSigningSecret',
    tag,
    summary: 'Give alerts another signing secret',
    permission: decide,
    scope: 'project',
    isSecret: true,
    params: {},
    query: noQuery,
    body: SigningSecretRotation,
    responses: { 200: RotatedSigningSecret },
    errors: ['ROTATION_OVERLAP_ACTIVE'],
    async handle(call) {
      return { status: 200, body: await rotateSecret(await ofEndpoint(call)) }
    },
  }),
  route({
    method: 'POST',
    path: '/alerts/test',
    operationId: 'testAlert',
    tag,
    summary: 'Send a notification that says it is a test',
    permission: { resource: 'destinations', level: 'write' },
    scope: 'project',
    params: {},
    query: noQuery,
    body: NoMembers,
    responses: { 200: z.object({ deliveryId: Id('dlv'), attempt: Attempt }) },
    errors: ['DESTINATION_NOT_PUBLIC'],
    async handle(call) {
      const { deliveryId, attempt } = await sendTest(await ofEndpoint(call), {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(testNotification(call)),
      })
      return { status: 200, body: { deliveryId: encodeId('dlv', deliveryId), attempt } }
    },
  }),
]

/** Saving an address that was disabled is the way to use it again. */
async function setEndpoint(call: Call<object, unknown, { url: string }>): Promise<Destination> {
  const { deps, principal, body } = call
  const { organisationId } = principal
  const now = new Date(deps.clock.now())
  const changes = { url: body.url, isEnabled: true }
  const taken = { constraint: DESTINATION.nameTaken, name: ALERT_DESTINATION_NAME }
  const { before, row } = await transact(deps, taken, async (tx) => {
    const projectId = await lockInternalProject(tx, organisationId, now)
    const found = (await findAlertEndpoint(tx, organisationId))?.destination
    const given = { organisationId, projectId, name: ALERT_DESTINATION_NAME, url: body.url }
    const base = found ?? {
      ...newDestination(deps, { ...given, id: newId(now.getTime()) }, now),
      retryPolicy: RETRY_POLICY,
    }
    const changed = changeDestination(deps, base, changes, { part: 'body', now })
    if (found === undefined) await DESTINATION.insert(tx, changed, deps)
    else await DESTINATION.update(tx, changed)
    const verb = found === undefined ? 'create' : 'update'
    await note(tx, call, DESTINATION, { verb, row: changed, shown: { alerts: true, ...changes } })
    return { before: found, row: changed }
  })
  await DESTINATION.announce(deps, row, before)
  return row
}

/** The call as one about the destination of the alerts. Refuses where there is none. */
async function ofEndpoint<C extends Pick<Call, 'deps' | 'reach'>>(
  call: C,
): Promise<C & { params: { id: string } }> {
  const { organisationId } = call.reach
  const endpoint = await findAlertEndpoint(call.deps.db, organisationId)
  if (endpoint === undefined) refuse('NOT_FOUND', 'Alerts go to no address yet')
  const { id, projectId } = endpoint.destination
  return { ...call, reach: { organisationId, projectId }, params: { id } }
}

function testNotification({ deps, principal, project }: Call): Record<string, unknown> {
  return {
    type: 'alert.test',
    timestamp: timestamp(deps.clock.now()),
    data: {
      organisationId: encodeId('org', principal.organisationId),
      projectId: encodeId('prj', project()),
      summary: 'This is a test: nothing is wrong.',
    },
  }
}
