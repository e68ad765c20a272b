import type { Logger } from '../../../core/log.ts'
import type { Rejection } from '../../../core/verify/request/signed-request.ts'
import type { RejectionCounts } from '../budgets/rejection-counts.ts'
import type { Rejections } from '../budgets/rejections.ts'
import { keepRejected, type AcceptDeps, type Received } from './accept.ts'

export interface RejectDeps extends AcceptDeps {
  log: Logger
  rejections: Rejections
  unstored: RejectionCounts
}

/**
 * Keeps or counts a request that failed verification: the id of the event that it became. Its sender hears the same, whether
 * it could be kept or not.
 */
export async function reject(
  deps: RejectDeps,
  received: Received,
  rejection: Rejection,
): Promise<Buffer | undefined> {
  const { source } = received
  if (!deps.rejections.take(source.id, source.organisationId, storedBytes(received))) {
    deps.unstored.note(source, rejection.reason)
    return undefined
  }
  try {
    const eventId = await keepRejected(deps, received, rejection)
    if (eventId === undefined) deps.unstored.note(source, rejection.reason)
    return eventId
  } catch (err) {
    deps.unstored.note(source, rejection.reason)
    deps.log.warn({ err }, 'Cannot store a rejected request')
    return undefined
  }
}

/** Bytes of a request in the database: its sender chooses all of them. */
function storedBytes({ request, signed: { body }, mail }: Received): number {
  const { path, query, rawHeaders } = request
  const headers = rawHeaders.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  return body.length + (mail?.length ?? 0) + path.length + query.length + headers
}
