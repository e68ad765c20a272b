import { randomUUID } from 'node:crypto'

import { joinHeaders } from '../../request/headers.ts'
import { toBinary } from '../../request/text.ts'
import type { SignedRequest } from '../request/signed-request.ts'

/** A request that is being made up. Its texts are as people write them. */
export interface Draft {
  method: string
  /** By their names in lower case. */
  headers: Map<string, string>
  query: Map<string, string>
  /** Its body is JSON. */
  members: Members
}

/** Without a prototype: a path from a configuration reaches nothing else. */
type Members = Record<string, unknown>

export function newDraft(method: string): Draft {
  const members: Members = Object.create(null)
  members['id'] = sampleId()
  members['type'] = SAMPLE_TYPE
  members['data'] = { amount: 1200 }
  const headers = new Map([['content-type', 'application/json']])
  return { method, headers, query: new Map(), members }
}

export const SAMPLE_TYPE = 'invoice.paid'

export const sampleId = (): string => `sample_${randomUUID().replaceAll('-', '')}`

export function putHeader({ headers }: Draft, name: string, value: string): void {
  headers.set(name.toLowerCase(), value)
}

/** Puts a value where a path leads. False when the path goes through an array, which no sample has. */
export function putMember(
  members: Members,
  [key, ...rest]: readonly (string | number)[],
  value: unknown,
): boolean {
  if (key === undefined || !/^(?!\d+$)[^*]+$/.test(String(key))) return false
  if (rest.length === 0) {
    members[key] = value
    return true
  }
  const inner: Members = isMembers(members[key]) ? members[key] : Object.create(null)
  members[key] = inner
  return putMember(inner, rest, value)
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null
}

/** The draft as ingest would read it at an address. */
export function requestOf(draft: Draft, address: string): SignedRequest {
  const pairs = [...draft.headers].map(([name, value]): [string, string] => [name, toBinary(value)])
  const query = new URLSearchParams([...draft.query]).toString()
  return {
    method: draft.method,
    url: query === '' ? address : `${address}?${query}`,
    path: new URL(address).pathname,
    query,
    headers: joinHeaders(pairs),
    rawHeaders: pairs,
    body: Buffer.from(JSON.stringify(draft.members)),
    remoteIp: '',
  }
}
