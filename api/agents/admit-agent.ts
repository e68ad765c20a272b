import type { FastifyReply, FastifyRequest } from 'fastify'

import { timestamp } from '../../core/clock.ts'
import { useAgent, type AgentUse } from '../../core/db/accounts/agents.ts'
import { refuse } from '../../core/errors.ts'
import { parseSecret } from '../../core/keys/secret-text.ts'
import { AGENT_CALLS_PER_MINUTE, API_WINDOW_SECONDS } from '../../core/limits.ts'
import { rateHeaders } from '../auth/rate-limit.ts'
import type { AdmittedAgent } from '../capabilities/capability.ts'
import type { Deps } from '../deps.ts'
import { isOwnOrigin } from '../sessions/same-origin.ts'

/**
 * Reads the token and counts the call, before the body is read. Programs name no `Origin`; a page of another site that had
 * come by a token is refused.
 */
export async function admitAgent(
  deps: Pick<Deps, 'db' | 'clock' | 'keyPrefix' | 'accounts'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<AdmittedAgent> {
  // Answers are the agent's own: nothing between may keep them.
  void reply.header('cache-control', 'no-store')
  const { origin, authorization } = request.headers
  if (origin !== undefined && !isOwnOrigin(deps.accounts.apiUrl, request)) {
    refuse('FORBIDDEN', `Cannot take calls from pages of "${origin}"`)
  }
  const address = request.clientAddress
  const use = await findUse(deps, authorization, address)
  if (use === undefined) {
    void reply.header('www-authenticate', 'Bearer')
    refuse('UNAUTHORIZED', 'Agent token is missing, invalid, expired or revoked')
  }
  const endsAtMs = use.windowStartedAt.getTime() + API_WINDOW_SECONDS * 1_000
  const resetSeconds = Math.max(1, Math.ceil((endsAtMs - deps.clock.now()) / 1_000))
  const limit = AGENT_CALLS_PER_MINUTE
  void reply.headers(rateHeaders({ limit, left: Math.max(0, limit - use.calls), resetSeconds }))
  if (use.calls > limit) {
    const message = `More than ${limit} calls in a minute: wait until ${timestamp(endsAtMs)}`
    refuse('RATE_LIMITED', message, { limit, remaining: 0, retryAfterSeconds: resetSeconds })
  }
  return { ...agentOf(use), address }
}

async function findUse(
  { db, clock, keyPrefix }: Pick<Deps, 'db' | 'clock' | 'keyPrefix'>,
  authorization: string | undefined,
  address: string,
): Promise<AgentUse | undefined> {
  const [, text] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  const hash = text === undefined ? undefined : parseSecret(keyPrefix, 'ag', text)
  return hash && (await useAgent(db, hash, { nowMs: clock.now(), address }))
}

function agentOf(use: AgentUse): Omit<AdmittedAgent, 'address'> {
  const { id, organisationId, role, projectId, projectName } = use
  const selected =
    projectId === null || projectName === null ? undefined : { id: projectId, name: projectName }
  return { id, organisationId, role, selected }
}
