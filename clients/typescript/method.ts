import type { OPERATIONS } from './operations.ts'
import type { components, operations } from './schema.d.ts'

export type OperationId = keyof typeof OPERATIONS
export type Schemas = components['schemas']

/** Members that every call may have besides its own. */
interface CallOptions {
  /** The project to act in, in place of the client's. */
  projectId?: string | undefined
  /** With a POST: the same key with the same call gets the first answer, for 24 hours. */
  idempotencyKey?: string | undefined
  signal?: AbortSignal | undefined
}

type Json<Body> = { content: { 'application/json': Body } }

/** A part that an operation does not have adds nothing. */
type Part<Given> = [NonNullable<Given>] extends [never] ? unknown : NonNullable<Given>

/** Members of a query may be given as undefined, which is the same as leaving them out. */
type Loose<Query> = { [Name in keyof Query]: Query[Name] | undefined }

type BodyOf<Operation> = Operation extends { requestBody: Json<infer Body> }
  ? { body: Body }
  : Operation extends { requestBody?: infer Request }
    ? [NonNullable<Request>] extends [Json<infer Body>]
      ? [NonNullable<Request>] extends [never]
        ? unknown
        : { body?: Body | undefined }
      : unknown
    : unknown

type InputOf<Operation extends { parameters: { path?: unknown; query?: unknown } }> = Part<
  Operation['parameters']['path']
> &
  Loose<Part<Operation['parameters']['query']>> &
  BodyOf<Operation> &
  CallOptions

type AnswerOf<Responses> = {
  [Status in keyof Responses & (200 | 201 | 202 | 204)]: Responses[Status] extends Json<infer Body>
    ? Body
    : undefined
}[keyof Responses & (200 | 201 | 202 | 204)]

/** The argument of an operation: the names in its path, its query and its body, in one object. */
export type Input<Id extends keyof operations> = InputOf<operations[Id]>

/** The body of its success; undefined when there is none. */
export type Answer<Id extends keyof operations> = AnswerOf<operations[Id]['responses']>

type Method<Id extends OperationId> =
  Partial<Input<Id>> extends Input<Id>
    ? (input?: Input<Id>) => Promise<Answer<Id>>
    : (input: Input<Id>) => Promise<Answer<Id>>

export type Methods = { readonly [Id in keyof typeof OPERATIONS]: Method<Id> }
