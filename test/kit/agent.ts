import { createAgent } from '../../api/agents/agents.ts'
import type { Role } from '../../core/accounts/role.ts'
import { encodeId } from '../../core/ids.ts'
import { seedPerson } from './browser-like.ts'
import type { Answer } from './call-api.ts'
import { uuid } from './seed.ts'
import { TESTER } from './tester.ts'
import type { World } from './world.ts'

export interface SeededAgent {
  id: string
  token: string
  /** The person that it belongs to. */
  memberId: string
}

let people = 0

/** An agent of a new member, without a selected project. */
export async function seedAgent(
  world: World,
  role: Role,
  { organisationId = world.organisationId, expiresAt = null as Date | null } = {},
): Promise<SeededAgent> {
  const memberId = await seedPerson(world, `agent${++people}@example.com`, {
    [organisationId]: role,
  })
  const { agent, token } = await createAgent(
    { ...world.deps, actor: TESTER },
    {
      organisationId: uuid('org', organisationId),
      personId: uuid('usr', memberId),
      name: `of a ${role}`,
      expiresAt,
      keyPrefix: world.deps.keyPrefix,
    },
  )
  return { id: encodeId('agt', agent.id), token, memberId }
}

interface Caller {
  apiUrl: string
  /** Null sends none. */
  token: string | null
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** Calls a capability over HTTP. */
export async function callCapability(
  { apiUrl, token, headers = {}, signal }: Caller,
  name: string,
  input: unknown = {},
): Promise<Answer> {
  const response = await fetch(`${apiUrl}/capabilities/${name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof input === 'string' ? input : JSON.stringify(input),
    ...(signal !== undefined && { signal }),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: JSON.parse(await response.text()),
  }
}
