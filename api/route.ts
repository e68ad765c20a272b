import type { z } from 'zod'

import type { Reach } from '../core/db/lists/page.ts'
import type { Code } from '../core/errors.ts'
import type { Need } from '../core/keys/permissions.ts'
import type { Deps } from './deps.ts'
import type { ParamKind } from './fields.ts'
import type { Principal } from './principal.ts'
import type { LiveStreams } from './stream/live-streams.ts'

/** What a key must hold for a route. No route can be written without saying. */
export type Permission = Need | 'any_key'

/** An id that is malformed names nothing and is not found; a name that no resource can have is the client's fault. */
type Params = Readonly<Record<string, ParamKind>>

/** Success statuses with the schema of their body; null for a status without one. */
type Responses = Readonly<Record<number, z.ZodType | null>>

/** What a handler gets: who asks, what they may reach, and the input after its schemas. */
export interface Call<P = Record<string, string>, Q = unknown, B = unknown> {
  deps: Deps
  principal: Principal
  /** For reading by id: one project, or all of the organisation when none was named. */
  reach: Reach
  /** For lists and creates: the project named, bound or default. Refuses with FORBIDDEN when there is none. */
  project: () => string
  params: P
  query: Q
  body: B
  /** Those that the route names, by their names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  /** The event streams of this process. */
  streams: LiveStreams
}

export interface Answer {
  status: number
  /** JSON, or a stream of what the route's content type says. */
  body?: unknown
  headers?: Readonly<Record<string, string>>
}

/** One operation of the API as data: mounting, permissions, validation and the OpenAPI document all read it. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/v1`, with `:name` for parameters. */
  path: string
  operationId: string
  tag: string
  summary: string
  description?: string
  permission: Permission
  /** What is needed besides, by the `kind` that the body names; told before the rest of the body is looked at. */
  needsByKind?: Readonly<Record<string, Need>>
  /** `project`: lists or creates inside one project, which must be told; `reach`: goes as far as the key does. */
  scope: 'project' | 'reach'
  params: Params
  query: z.ZodObject | null
  /** Request headers that the operation reads, by their names in lower case, each with what it is for. */
  headers?: Readonly<Record<string, string>>
  body: z.ZodType | null
  responses: Responses
  /** Of a success whose body is not JSON. */
  contentType?: string
  /** The answer carries a secret: nothing between may keep it. */
  isSecret?: true
  /** Codes of this operation's own, beside those that follow from permission, scope and input. */
  errors: readonly Code[]
  handle(call: Call): Promise<Answer>
}

interface Spec<
  P extends Params,
  Q extends z.ZodObject | null,
  B extends z.ZodType | null,
  R extends Responses,
> extends Omit<Route, 'params' | 'query' | 'body' | 'responses' | 'handle'> {
  params: P
  query: Q
  body: B
  responses: R
  handle(
    call: Call<{ [K in keyof P]: string }, Parsed<Q>, Parsed<B>>,
  ): Promise<{ [S in keyof R]: Reply<S, R[S]> }[keyof R]>
}

type Parsed<T> = T extends z.ZodType ? z.output<T> : undefined
type Reply<S, T> = Pick<Answer, 'headers'> &
  (T extends z.ZodType ? { status: S; body: z.input<T> } : { status: S })

/** Ties a handler's types to its schemas, then forgets them, so that routes of all kinds make one list. */
export function route<
  const P extends Params,
  const Q extends z.ZodObject | null,
  const B extends z.ZodType | null,
  const R extends Responses,
>(spec: Spec<P, Q, B, R>): Route {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- mounting runs the schemas before the handler
  return spec as unknown as Route
}

/** Every code that an operation can answer with. */
export function errorsOf(described: Route): Code[] {
  const { method, permission, needsByKind, scope, query, body, errors } = described
  return [
    ...new Set<Code>([
      ...(query !== null || body !== null ? (['BAD_REQUEST'] as const) : []),
      'UNAUTHORIZED',
      ...(scope === 'project' ? (['FORBIDDEN'] as const) : []),
      ...(permission === 'any_key' && needsByKind === undefined
        ? []
        : (['INSUFFICIENT_API_KEY_PERMISSIONS'] as const)),
      // X-Project-Id may name a project that is not there, on any route.
      'NOT_FOUND',
      // An Idempotency-Key may be in use.
      ...(method === 'POST' ? (['CONFLICT'] as const) : []),
      ...errors,
    ]),
  ]
}
