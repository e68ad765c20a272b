import { z } from 'zod'

import { readUsage } from '../../core/db/billing/usage.ts'
import { NoMembers } from '../http/fields.ts'
import { route } from '../http/route.ts'
import { changeBilling } from './change.ts'
import { Plan, PlanChange, Usage, viewPlan, viewUsage } from './shape.ts'
import { standingFor } from './standing.ts'

const tag = 'Billing'
const nothing = z.strictObject({})
const read = { resource: 'billing', level: 'read' } as const
const write = { resource: 'billing', level: 'write', isExplicit: true } as const

/** Billing belongs to the organisation, whatever project a key is bound to. */
const common = { tag, scope: 'reach', params: {}, query: nothing } as const
const mutation = {
  ...common,
  method: 'POST',
  permission: write,
  responses: { 200: Plan },
  errors: ['FORBIDDEN', 'CONFLICT'],
} as const

export const BILLING_ROUTES = [
  route({
    ...common,
    method: 'GET',
    path: '/billing/plan',
    operationId: 'getPlan',
    summary: 'Read the plan, what it grants and the subscription',
    permission: read,
    body: null,
    responses: { 200: Plan },
    errors: [],
    async handle({ deps, principal }) {
      const standing = await standingFor(deps, deps.db, principal.organisationId)
      return { status: 200, body: viewPlan(standing) }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/billing/usage',
    operationId: 'getUsage',
    summary: 'Read the deliveries counted in the present usage window',
    description:
      'The window is the period of the subscription, and the UTC calendar month without one. Retries and duplicates are not counted; replays are.',
    permission: read,
    body: null,
    responses: { 200: Usage },
    errors: [],
    async handle({ deps, principal: { organisationId } }) {
      const standing = await standingFor(deps, deps.db, organisationId)
      const deliveries = await readUsage(deps.db, organisationId, standing.window)
      return { status: 200, body: viewUsage(standing, deliveries) }
    },
  }),
  route({
    ...mutation,
    path: '/billing/cancel',
    operationId: 'cancelSubscription',
    summary: 'End the subscription at the end of its period',
    description: 'Then the organisation is on the free plan. A scheduled change is dropped.',
    body: NoMembers,
    async handle({ deps, principal }) {
      const standing = await changeBilling(deps, principal, { kind: 'cancel' })
      return { status: 200, body: viewPlan(standing) }
    },
  }),
  route({
    ...mutation,
    path: '/billing/resume',
    operationId: 'resumeSubscription',
    summary: 'Take back a cancellation before it takes effect',
    body: NoMembers,
    async handle({ deps, principal }) {
      const standing = await changeBilling(deps, principal, { kind: 'resume' })
      return { status: 200, body: viewPlan(standing) }
    },
  }),
  route({
    ...mutation,
    path: '/billing/change-plan',
    operationId: 'changePlan',
    summary: 'Change the plan now or at the end of the period',
    description:
      'Without `when` a larger plan takes effect now and a smaller one at the end of the period. The period goes on. Without a subscription one starts now.',
    body: PlanChange,
    async handle({ deps, principal, body: { plan, when } }) {
      const standing = await changeBilling(deps, principal, { kind: 'change_plan', plan, when })
      return { status: 200, body: viewPlan(standing) }
    },
  }),
  route({
    ...mutation,
    path: '/billing/revert-scheduled-change',
    operationId: 'revertScheduledChange',
    summary: 'Drop the change of plan that is scheduled for the end of the period',
    body: NoMembers,
    async handle({ deps, principal }) {
      const standing = await changeBilling(deps, principal, { kind: 'revert_scheduled_change' })
      return { status: 200, body: viewPlan(standing) }
    },
  }),
]
