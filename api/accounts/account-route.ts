import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'

import { isAtLeast, type Role } from '../../core/accounts/role.ts'
import type { SessionUse } from '../../core/db/accounts/sessions.ts'
import type { Actor } from '../../core/db/requests/audit.ts'
import type { Deps } from '../deps.ts'
import type { ParamKind } from '../http/fields.ts'
import type { Answer } from '../http/route.ts'

type Params = Readonly<Record<string, ParamKind>>

/** A request to `/auth` after the schemas of its route. */
interface Visit<P = Record<string, string>, Q = unknown, B = unknown> {
  deps: Deps
  params: P
  query: Q
  body: B
  request: FastifyRequest
  /** Where browsers find the dashboard. */
  origin: string
}

/** The same of a person who is signed in. */
interface SignedIn<P = Record<string, string>, Q = unknown, B = unknown> extends Visit<P, Q, B> {
  session: SessionUse
  /** As it stands in the audit. */
  actor: Actor
}

/** The same in an organisation, the one that the path names as `org`, in which the person has this role. */
export interface InOrganisation<
  P = Record<string, string>,
  Q = unknown,
  B = unknown,
> extends SignedIn<P, Q, B> {
  organisationId: string
  role: Role
}

interface Described {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/auth`, with `:name` for parameters. */
  path: string
  params: Params
  query: z.ZodObject | null
  body: z.ZodType | null
  /** Counted with the attempts to sign in, of which an address has few. */
  isSignIn?: true
  /** Refused where passwords are switched off. */
  isOfPasswords?: true
  /** For a page that a browser opens: where it is led when it is refused, in place of an error in JSON. */
  onRefusal?: (deps: Deps, error: unknown) => Answer
  /** A secret is made, or who owns what changes: the person must have proved lately who they are. */
  isFresh?: true
}

/** An endpoint of `/auth` as data. `who` may call it: anybody, whoever is signed in, or members from a role on. */
export type AccountRoute = Described &
  (
    | { who: 'anybody'; handle(visit: Visit): Promise<Answer> }
    | { who: 'session'; handle(visit: SignedIn): Promise<Answer> }
    | { who: Role; handle(visit: InOrganisation): Promise<Answer> }
  )

type Parsed<T> = T extends z.ZodType ? z.output<T> : undefined

type VisitOf<W, P, Q, B> = W extends 'anybody'
  ? Visit<P, Q, B>
  : W extends 'session'
    ? SignedIn<P, Q, B>
    : InOrganisation<P, Q, B>

/** Ties a handler's types to its schemas, then forgets them, so that routes of all kinds make one list. */
export function accountRoute<
  const W extends AccountRoute['who'],
  const P extends Params,
  const Q extends z.ZodObject | null,
  const B extends z.ZodType | null,
>(
  spec: Omit<Described, 'params' | 'query' | 'body'> & {
    who: W
    params: P
    query: Q
    body: B
    handle(visit: VisitOf<W, { [K in keyof P]: string }, Parsed<Q>, Parsed<B>>): Promise<Answer>
  },
): AccountRoute {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- mounting runs the schemas before the handler
  return spec as unknown as AccountRoute
}

/** Whether a person may change a key or an agent of `personId`: a member changes none but their own. */
export function mayChange(
  { session, role }: Pick<InOrganisation, 'session' | 'role'>,
  personId: string | null,
): boolean {
  return personId === session.personId || isAtLeast(role, 'admin')
}
