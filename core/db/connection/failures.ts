import pg from 'pg'

/**
 * The server refuses, goes away, is out of resources (class 53: disk, memory, connections), cannot read or write its files
 * (class 58), or is read-only after a fail-over; or the socket to it does. Each may be different a moment later.
 */
const AWAY_STATES = /^(?:08...|53...|57P0[1-3]|58...|25006)$/
const AWAY_SOCKETS = new Set([
  // A socket of the file system is gone with its server.
  'ENOENT',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
])

const UNANSWERED = 'Query read timeout'
const READ_ONLY = 'PostgreSQL takes no writes: the server is a standby or read-only'

/** pg gives these no code of their own. */
const AWAY_MESSAGES = [
  UNANSWERED,
  READ_ONLY,
  'Client was closed',
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Client has encountered a connection error',
]

/** Whether an error says that PostgreSQL cannot be reached or cannot write, rather than that the statement was wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // A name with several addresses: each of them was tried.
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (error instanceof pg.DatabaseError) return AWAY_STATES.test(code)
  return (
    AWAY_SOCKETS.has(code) || AWAY_MESSAGES.some((message) => error.message.startsWith(message))
  )
}

/** PostgreSQL did not even report that the statement took too long. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === UNANSWERED
}

/** The error concerns the server of the connection, not the statement: no answer, shutdown, or no writes any more. */
export function condemnsServer(error: unknown): boolean {
  if (isUnanswered(error)) return true
  return error instanceof pg.DatabaseError && /^(?:57P0[1-3]|25006)$/.test(error.code ?? '')
}

/** A new connection led to a server that takes no writes: a standby, or a primary that was demoted. */
export class ReadOnlyServer extends Error {
  override readonly name = 'ReadOnlyServer'

  constructor() {
    super(READ_ONLY)
  }
}

/** Whether a row was refused because `constraint` already holds its values. */
export function violates(error: unknown, constraint: string): boolean {
  return (
    error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint
  )
}

/** Whether a row was refused because what it belongs to was deleted by another transaction. */
export function refersToDeleted(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '23503'
}

/** The statement names a table that is not there. */
export function isUndefinedTable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '42P01'
}

/** Deadlock and serialisation failure: the same statement may pass when it is run again. */
export function isPassing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40P01' || error.code === '40001')
}

/** The data of the statement are at fault, not the server: data exception, constraint, program limit. */
export function isDataFault(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(?:22|23|54)/.test(error.code ?? '')
}

/** Whether PostgreSQL could not store at all: away or too slow. */
export function cannotStore(error: unknown): boolean {
  return isDatabaseAway(error) || isTimeout(error)
}

/** The statement took longer than it was given. */
export function isTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '57014'
}

/** A statement found that what it took for granted does not hold. */
export function isDivisionByZero(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '22012'
}
