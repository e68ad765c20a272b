import type { z } from 'zod'

import type { Code } from '../../core/errors.ts'
import type { Need } from '../../core/keys/permissions.ts'
import type { JsonText } from '../answers/json-text.ts'
import type { Access, Permission } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'
import type { ParamKind } from './fields.ts'

/** An id that is malformed names nothing and is not found; a name that no resource can have is the client's fault. */
type Params = Readonly<Record<string, ParamKind>>

/** Success statuses with the schema of their body; null for a status without one. */
type Responses = Readonly<Record<number, z.ZodType | null>>

/** The input of a request after the schemas of its route. */
interface Input<P, Q, B> {
  deps: Deps
  params: P
  query: Q
  body: B
  /** The headers that the route names, in lower case. */
  headers: Readonly<Record<string, string | undefined>>
}

/** A handler gets who asks, what they may reach, and the input after its schemas. */
export interface Call<P = Record<string, string>, Q = unknown, B = unknown>
  extends Input<P, Q, B>, Access {
  /** Whether the client is gone; absent for a call that came another way than by HTTP. */
  hasLeft?: (() => boolean) | undefined
}

/** Who calls a public route, as far as can be told before the body is read. */
export interface Caller {
  deps: Deps
  remoteIp: string
  authorization: string | undefined
}

/** A public route's handler gets the input, where it comes from, and what its `admit` has found out. */
interface PublicCall<
  P = Record<string, string>,
  Q = unknown,
  B = unknown,
  W = unknown,
> extends Input<P, Q, B> {
  remoteIp: string
  admitted: W
}

export interface Answer {
  status: number
  /** A value of JSON or its text, or a stream of what the route's content type says. */
  body?: unknown
  headers?: Readonly<Record<string, string | string[]>>
}

interface Described {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/v1`, with `:name` for parameters. */
  path: string
  operationId: string
  tag: string
  summary: string
  description?: string
  params: Params
  query: z.ZodObject | null
  /** Request headers that the operation reads, by their names in lower case, each with what it is for. */
  headers?: Readonly<Record<string, string>>
  body: z.ZodType | null
  responses: Responses
  /** The content type of a success whose body is not JSON. */
  contentType?: string
  /** The answer carries a secret: nothing between may keep it. */
  isSecret?: true
  /** The answer may take megabytes: it is written an item at a time, so that other requests are answered meanwhile. */
  isLong?: true
  /** Codes of this operation's own, beside those that follow from permission, scope and input. */
  errors: readonly Code[]
}

/** An operation for callers that say who they are. */
export interface KeyedRoute extends Described {
  permission: Permission
  /** Further permissions, by the `kind` in the body; checked before the rest of the body. */
  needsByKind?: Readonly<Record<string, Need>>
  /** `project`: lists or creates inside one project, which must be told; `reach`: goes as far as the key does. */
  scope: 'project' | 'reach'
  handle(call: Call): Promise<Answer>
}

/** An operation for anybody: without a key, and outside the window of every key. */
export interface PublicRoute extends Described {
  permission: 'public'
  /** Before the body is read. Throws what a caller is refused with. */
  admit?: (caller: Caller) => Promise<unknown>
  handle(call: PublicCall): Promise<Answer>
}

/** An operation of the API as data: mounting, permissions, validation and the OpenAPI document all read it. */
export type Route = KeyedRoute | PublicRoute

type Spec<
  A extends Route,
  P extends Params,
  Q extends z.ZodObject | null,
  B extends z.ZodType | null,
  R extends Responses,
> = Omit<A, 'params' | 'query' | 'body' | 'responses' | 'handle'> & {
  params: P
  query: Q
  body: B
  responses: R
  handle(
    call: A extends PublicRoute
      ? PublicCall<{ [K in keyof P]: string }, Parsed<Q>, Parsed<B>>
      : Call<{ [K in keyof P]: string }, Parsed<Q>, Parsed<B>>,
  ): Promise<{ [S in keyof R]: Reply<S, R[S]> }[keyof R]>
}

type Parsed<T> = T extends z.ZodType ? z.output<T> : undefined
type Reply<S, T> = Pick<Answer, 'headers'> &
  (T extends z.ZodType ? { status: S; body: z.input<T> | JsonText } : { status: S })

/** Ties a handler's types to its schemas, then forgets them, so that routes of all kinds make one list. */
export function route<
  const P extends Params,
  const Q extends z.ZodObject | null,
  const B extends z.ZodType | null,
  const R extends Responses,
>(spec: Spec<KeyedRoute, P, Q, B, R>): KeyedRoute {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `runRoute` runs the schemas before the handler
  return spec as unknown as KeyedRoute
}

type PublicSpec<
  P extends Params,
  Q extends z.ZodObject | null,
  B extends z.ZodType | null,
  R extends Responses,
  W,
> = Omit<Spec<PublicRoute, P, Q, B, R>, 'admit' | 'handle'> & {
  admit?: (caller: Caller) => Promise<W>
  handle(
    call: PublicCall<{ [K in keyof P]: string }, Parsed<Q>, Parsed<B>, W>,
  ): Promise<{ [S in keyof R]: Reply<S, R[S]> }[keyof R]>
}

/** A route that needs no key: its `admit` says who may call it. */
export function publicRoute<
  const P extends Params,
  const Q extends z.ZodObject | null,
  const B extends z.ZodType | null,
  const R extends Responses,
  W,
>(spec: PublicSpec<P, Q, B, R, W>): PublicRoute {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- mounting runs `admit`, and `runPublic` the schemas
  return spec as unknown as PublicRoute
}

export function isPublic(described: Route): described is PublicRoute {
  return described.permission === 'public'
}

/** Every code that an operation can answer with. */
export function errorsOf(described: Route): Code[] {
  const { method, params, query, body, errors } = described
  const input: Code[] = query !== null || body !== null ? ['BAD_REQUEST'] : []
  if (isPublic(described)) {
    const isIdNamed = Object.values(params).some((kind) => kind !== 'name')
    return [...new Set<Code>([...input, ...(isIdNamed ? (['NOT_FOUND'] as const) : []), ...errors])]
  }
  const { permission, needsByKind, scope } = described
  return [
    ...new Set<Code>([
      ...input,
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
