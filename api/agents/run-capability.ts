import { permissionsOf } from '../../core/accounts/role.ts'
import { findProject } from '../../core/db/configuration/projects.ts'
import { Refusal, refuse } from '../../core/errors.ts'
import { decodeId, encodeId } from '../../core/ids.ts'
import { demand, type Access, type Principal } from '../auth/principal.ts'
import type {
  AdmittedAgent,
  Capability,
  NamedProject,
  Question,
} from '../capabilities/capability.ts'
import type { Deps } from '../deps.ts'
import { refuseUnstorable } from '../http/body.ts'
import { runRoute } from '../http/call.ts'
import { badRequest, faultsOf, refuseMissing } from '../http/failure.ts'
import { isPublic, type KeyedRoute } from '../http/route.ts'
import { ROUTES } from '../routes.ts'

/** A call before the schemas of its capability, whichever way it came. */
export interface RawCall {
  agent: AdmittedAgent
  /** The parsed JSON; undefined when there is none. */
  sent: unknown
  signal: AbortSignal
}

/** Runs a capability with what the member of the agent may at this moment. Throws what the call is refused with. */
export async function runCapability(
  deps: Deps,
  capability: Capability,
  { agent, sent = {}, signal }: RawCall,
): Promise<object> {
  const principal = principalOf(agent)
  demand(principal, capability.permission)
  refuseUnstorable('body', sent)
  // Before the rest of the input: an agent without a project is told so, whatever it asks for.
  const project =
    capability.scope === 'project' ? await projectOf(deps, agent, namedProject(sent)) : undefined
  const { data, error } = capability.input.safeParse(sent)
  if (error !== undefined) throw badRequest(faultsOf('body', error))
  const access = accessOf(principal, project)
  const answer = await capability.run({
    deps,
    agent,
    input: capability.scope === 'project' ? withoutProject(data) : data,
    signal,
    ask: async (operationId, question, shape) =>
      shape.parse(await ask(deps, access, routeOf(operationId), question)),
  })
  const shown = project && { project: { id: encodeId('prj', project.id), name: project.name } }
  return capability.output.parse({ ...shown, ...answer })
}

/** The project is known by then. */
function withoutProject(input: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(input).filter(([member]) => member !== 'projectId'))
}

function principalOf({ id, organisationId, role, address }: AdmittedAgent): Principal {
  return {
    organisationId,
    actor: { name: `agent:${encodeId('agt', id)}`, address },
    person: { role, sessionId: null },
    permissions: permissionsOf(role),
    isBound: false,
  }
}

function accessOf(principal: Principal, project: NamedProject | undefined): Access {
  const { organisationId } = principal
  return {
    principal,
    reach: { organisationId, projectId: project?.id },
    project: () => project?.id ?? refuseProjectless(),
  }
}

/** The id in the input, however the rest of it may be; undefined where there is none or the schema refuses it. */
function namedProject(sent: unknown): string | undefined {
  if (typeof sent !== 'object' || sent === null || !('projectId' in sent)) return undefined
  return typeof sent.projectId === 'string' ? decodeId('prj', sent.projectId) : undefined
}

async function projectOf(
  { db }: Deps,
  { organisationId, selected }: AdmittedAgent,
  named: string | undefined,
): Promise<NamedProject> {
  if (named === undefined) return selected ?? refuseProjectless()
  const reach = { organisationId, projectId: undefined }
  return (await findProject(db, reach, named)) ?? refuseMissing('prj', named)
}

function refuseProjectless(): never {
  refuse(
    'FORBIDDEN',
    'Cannot tell the project: call account.select_project once, or name one in projectId',
  )
}

async function ask(
  deps: Deps,
  access: Access,
  route: KeyedRoute,
  { params = {}, query = {}, body }: Question,
): Promise<unknown> {
  try {
    const raw = { params, query, headers: {}, body: () => body }
    return (await runRoute(deps, route, access, raw)).body
  } catch (error) {
    throw inTermsOfInput(error)
  }
}

/** The agent has written an input, and neither a path nor a query. */
function inTermsOfInput(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.data === undefined || !('fields' in error.data)) {
    return error
  }
  return badRequest(
    error.data.fields.map(({ path, message }) => ({
      path: path.replace(/^(?:query|params)\b/, 'body'),
      message,
    })),
  )
}

const KEYED = new Map(
  ROUTES.flatMap((route) => (isPublic(route) ? [] : [[route.operationId, route] as const])),
)

function routeOf(operationId: string): KeyedRoute {
  const route = KEYED.get(operationId)
  if (route === undefined) throw new Error(`There is no operation "${operationId}"`)
  return route
}
