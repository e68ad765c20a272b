import assert from 'node:assert/strict'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import type { AdmittedAgent } from '../capabilities/capability.ts'
import { CAPABILITIES, describe } from '../capabilities/registry.ts'
import type { Deps } from '../deps.ts'
import { readBody } from '../http/body.ts'
import { admitAgent } from './admit-agent.ts'
import { AgentCalls } from './agent-calls.ts'
import { openMcp } from './mcp.ts'

/** The doors of agents: capabilities over HTTP, and the same as tools of the Model Context Protocol. */
export function mountAgents(app: FastifyInstance, deps: Deps): void {
  const calls = new AgentCalls(deps)
  const described = CAPABILITIES.map(describe)
  const list = { data: described }
  const answerMcp = openMcp({ ...deps, calls, described })
  app.addHook('preClose', async () => calls.stop())

  const agents = new WeakMap<FastifyRequest, AdmittedAgent>()
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    agents.set(request, await admitAgent(deps, request, reply))
  }
  const callerOf = (request: FastifyRequest): AdmittedAgent => {
    const agent = agents.get(request)
    assert(agent !== undefined)
    return agent
  }

  app.get('/capabilities', { onRequest }, async (_request, reply) => await reply.send(list))
  app.post('/capabilities/:name', { onRequest }, async (request, reply) => {
    const { name } = Object(request.params)
    const answer = await calls.run({
      agent: callerOf(request),
      name: String(name),
      sent: () => readBody(request.body, request.headers['content-type']),
      signal: departureOf(request, reply),
      requestId: request.id,
      way: 'http',
    })
    return await reply.send(answer)
  })
  for (const url of ['/mcp', '/mcp/']) {
    app.route({
      method: ['GET', 'POST', 'DELETE'],
      url,
      onRequest,
      handler: async (request, reply) =>
        await answerMcp(request, reply, {
          agent: callerOf(request),
          signal: departureOf(request, reply),
        }),
    })
  }
}

/**
 * Aborts when the client is gone before its answer. Whoever closed its sending side may be gone or may listen: what waits is
 * answered at once.
 */
function departureOf({ raw: request }: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  request.socket.once('end', leave)
  raw.once('close', () => {
    request.socket.off('end', leave)
    if (!raw.writableFinished) leave()
  })
  return gone.signal
}
