import { PosternError, reach } from './reach.ts'

export type Role = 'owner' | 'admin' | 'member'

export interface Organisation {
  id: string
  name: string
  role: Role
}

export interface Session {
  /** `isVerified`: the address is known to be theirs. */
  user: { id: string; email: string; name: string; isVerified: boolean }
  organisations: Organisation[]
}

type Level = 'none' | 'read' | 'write'
export type Permissions = Readonly<Record<string, Level>>

export interface Member {
  id: string
  email: string
  name: string
  role: Role
  createdAt: string
  /** Null unless the person is signed in. */
  lastSeenAt: string | null
}

export interface Invitation {
  id: string
  email: string
  role: Role
  expiresAt: string
  revokedAt: string | null
  acceptedAt: string | null
}

export interface Key {
  id: string
  name: string
  permissions: Permissions | null
  projectId: string | null
  secretHint: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  /** A member is told it of their own keys alone. */
  lastUsedFrom: string | null
  createdBy: string | null
  createdAt: string
}

export interface Agent {
  id: string
  name: string
  memberId: string
  memberEmail: string
  tokenHint: string
  /** The project that it has selected. */
  projectId: string | null
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  /** A member is told it of their own agents alone. */
  lastUsedFrom: string | null
}

export interface AuditEntry {
  id: string
  at: string
  actor: string
  actorName: string | null
  /** Null for the command line and for Postern itself. */
  address: string | null
  action: string
  projectId: string | null
  subjectKind: string
  subjectId: string
  changes: unknown
}

/** Calls `/auth` as the same origin does. Throws a `PosternError` for everything but a success. */
export async function callAuth<T>(method: string, path: string, body?: unknown): Promise<T> {
  return await callJson(method, `/auth${path}`, body)
}

/** The same for any path of ours whose answers the OpenAPI document does not describe. */
export async function callJson<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await reach(path, {
    method,
    ...(method === 'GET'
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  })
  const text = await response.text()
  const answer: unknown = text === '' ? undefined : parsed(text)
  if (!response.ok) throw new PosternError(response.status, answer, response.headers)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- docs/accounts.md and docs/alerts.md state the answers
  return answer as T
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
