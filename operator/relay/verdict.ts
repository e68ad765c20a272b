import { z } from 'zod'

import { STATUS } from '../../core/errors.ts'

/** An answer of whatever listens at the address of a Relay. */
export interface Answer {
  method: string
  status: number
  text: string
  /** The request names a project, which may be missing. */
  hasProject: boolean
}

/** The meaning of an answer: an address that a person wrote may lead to anything. */
export type Verdict =
  /** A Postern has done it; a list of resources proves that it is one. */
  | { kind: 'done'; isProof: boolean }
  /** A Postern refuses it. `body` may be shown to people. */
  | { kind: 'refused'; body: { status: number; code: string; message: string; data?: unknown } }
  | { kind: 'away'; message: string }
  | { kind: 'foreign'; message: string }

const Item = z.looseObject({ id: z.string().min(1).max(100) })
const List = z.object({
  data: z.array(Item).max(1_000),
  nextCursor: z.string().max(10_000).nullable(),
})
/** A newer relay may know more. */
const CODE = /^[A-Z][A-Z_]{1,60}$/
const Refusal = z.object({
  code: z.string().max(100),
  message: z.string().optional(),
  data: z.unknown().optional(),
})

/**
 * `isKnown`: the address has proved to be a Postern. Before that no text of an answer goes on to people, and later none but
 * that of our own codes: the name may lead to another service by then, which the author of the Relay cannot reach.
 */
export function verdictOf({ method, status, text, hasProject }: Answer, isKnown: boolean): Verdict {
  if (status >= 500) return { kind: 'away', message: `The relay answered ${status}` }
  const body = parsed(text)
  if (status < 300) {
    if (method === 'GET' && List.safeParse(body).success) return { kind: 'done', isProof: true }
    const isEmpty = text === '' && status === 204
    const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
    // Whatever answers may have an object with an id: it is one of ours where a list has come before.
    const isResource = isKnown && Item.safeParse(body).success
    return isResource || (method !== 'GET' && (isEmpty || isObject))
      ? { kind: 'done', isProof: false }
      : foreign(status)
  }
  const { data: refusal } = Refusal.safeParse(body)
  // A proxy in front of the relay may limit requests in words of its own.
  if (status === 429) return refused(status, { ...refusal, code: 'RATE_LIMITED' }, isKnown)
  if (refusal === undefined || !CODE.test(refusal.code)) return foreign(status)
  const isOurs = isOfStatus(refusal.code, status)
  // Ingest and the gateway of a Postern have no list of anything.
  const isElsewhere = status === 404 && !hasProject
  return isKnown || (isOurs && !isElsewhere)
    ? refused(status, refusal, isKnown && isOurs)
    : foreign(status)
}

function isOfStatus(code: string, status: number): boolean {
  const ours: Readonly<Record<string, number>> = STATUS
  return ours[code] === status
}

function refused(
  status: number,
  { code, message, data }: z.infer<typeof Refusal>,
  isShown: boolean,
): Verdict {
  if (isShown && message !== undefined)
    return { kind: 'refused', body: { status, code, message, data } }
  const body = { status, code, message: `The relay answers ${status} ${code}` }
  return { kind: 'refused', body }
}

function foreign(status: number): Verdict {
  const where = status < 400 && status >= 300 ? 'a redirect' : 'no answer of the management API'
  const message = `No Postern is at spec.baseUrl: status ${status} and ${where}. Name the origin of its management API`
  return { kind: 'foreign', message }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
