import { z } from 'zod'

import type { Role } from '../../core/accounts/role.ts'
import type { Permission } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'
import { Id, ShownName } from '../http/fields.ts'

/** A project as agents are told of it; the uuid inside. */
export interface NamedProject {
  id: string
  name: string
}

/** Who calls a capability, as its token was found. */
export interface AdmittedAgent {
  id: string
  organisationId: string
  /** The role of its member at this moment. */
  role: Role
  /** Where the call comes from. */
  address: string
  /** The project that it has selected. */
  selected: NamedProject | undefined
}

/** The input of a route of the API, as a client of it would write it. */
export interface Question {
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, unknown>>
  body?: unknown
}

type Ask = <T extends z.ZodType>(
  operationId: string,
  question: Question,
  shape: T,
) => Promise<z.output<T>>

/** A call of a capability: who calls, in which project, with the input after its schema. */
export interface CapabilityCall<I> {
  deps: Deps
  agent: AdmittedAgent
  input: I
  /** Runs an operation of the API with the rights of the agent, in its project. Answers what `shape` leaves of its body. */
  ask: Ask
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal
}

/** The hints of the protocol, by which a client decides whether to ask its user. */
interface Annotations {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

/** Something that an agent can do, as data: its HTTP endpoint, its tool and its description are made of it. */
export interface Capability {
  name: string
  title: string
  description: string
  /** Needed of the agent's member. */
  permission: Permission
  annotations: Annotations
  /** `project`: acts in the project that is selected, or that the input names. */
  scope: 'project' | 'organisation'
  input: z.ZodObject
  output: z.ZodObject
  run(call: CapabilityCall<unknown>): Promise<object>
}

/** The project of an answer, so that nobody takes it for another's. */
export const ShownProject = z
  .object({
    id: Id('prj').describe('The id of the project.'),
    name: ShownName.describe('Its name.'),
  })
  .describe('The project that this answer is about.')

const Wanted = {
  projectId: Id('prj')
    .optional()
    .describe('Another project for this call alone; the selected one by default.'),
}

type Spec<I extends z.ZodObject, O extends z.ZodObject> = Pick<
  Capability,
  'name' | 'title' | 'description' | 'permission'
> & {
  input: I
  output: O
  run(call: CapabilityCall<z.output<I>>): Promise<z.input<O>>
}

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true } as const
/** A request to a real endpoint cannot be taken back: clients that ask before what is destructive must ask. */
const SENDS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false } as const

/** A capability that changes nothing, in a project. */
export function reads<const I extends z.ZodObject, const O extends z.ZodObject>(
  spec: Spec<I, O>,
): Capability {
  return inProject(spec, { ...READS, openWorldHint: false })
}

/** A capability that has something sent to the outside, in a project. */
export function sends<const I extends z.ZodObject, const O extends z.ZodObject>(
  spec: Spec<I, O>,
): Capability {
  return inProject(spec, { ...SENDS, openWorldHint: true })
}

/** A capability outside of projects. */
export function ofAccount<const I extends z.ZodObject, const O extends z.ZodObject>(
  spec: Spec<I, O> & { annotations: Pick<Annotations, 'readOnlyHint'> },
): Capability {
  const { readOnlyHint } = spec.annotations
  const annotations = { ...READS, readOnlyHint, openWorldHint: false }
  return { ...spec, scope: 'organisation', annotations }
}

function inProject<I extends z.ZodObject, O extends z.ZodObject>(
  spec: Spec<I, O>,
  annotations: Annotations,
): Capability {
  const input = spec.input.extend(Wanted)
  const output = z.object({ project: ShownProject, ...spec.output.shape })
  return { ...spec, input, output, scope: 'project', annotations }
}
