import { z } from 'zod'

import { ALERT_TYPES, RECOVERY_TYPES } from '../../core/alerts/alert-types.ts'
import { chooseMails, unwantedMails } from '../../core/db/alerts/alert-mails.ts'
import type { Deps } from '../deps.ts'
import { route } from '../http/route.ts'
import { personOf } from './routes.ts'

const tag = 'Alerts'
const noQuery = z.strictObject({})

const Choice = z.object({
  /** Whether this installation sends mail. */
  isOffered: z.boolean(),
  types: z.array(z.string()),
  unwanted: z.array(z.string()),
})

const TYPES = [...ALERT_TYPES, ...RECOVERY_TYPES]

/** The mails of alerts that a person wants, who is an owner or admin. */
export const ALERT_MAIL_ROUTES = [
  route({
    method: 'GET',
    path: '/alerts/mails',
    operationId: 'getAlertMails',
    tag,
    summary: 'Show the notifications that you get no mail of',
    permission: 'any_key',
    scope: 'project',
    params: {},
    query: noQuery,
    body: null,
    responses: { 200: Choice },
    errors: [],
    async handle({ deps, reach, principal }) {
      const unwanted = await unwantedMails(deps.db, reach.organisationId, personOf(principal))
      return { status: 200, body: shown(deps, unwanted) }
    },
  }),
  route({
    method: 'PUT',
    path: '/alerts/mails',
    operationId: 'setAlertMails',
    tag,
    summary: 'Choose the notifications that you get no mail of',
    permission: 'any_key',
    scope: 'project',
    params: {},
    query: noQuery,
    body: z.strictObject({ unwanted: z.array(z.enum(TYPES)).max(TYPES.length) }),
    responses: { 200: Choice },
    errors: [],
    async handle({ deps, reach, principal, body }) {
      const unwanted = [...new Set(body.unwanted)]
      const { organisationId } = reach
      await chooseMails(deps.db, { organisationId, personId: personOf(principal), unwanted })
      return { status: 200, body: shown(deps, unwanted) }
    },
  }),
]

function shown({ post }: Deps, unwanted: string[]): z.input<typeof Choice> {
  return { isOffered: post !== undefined, types: TYPES, unwanted }
}
