import { encodeId } from '../../../core/ids.ts'
import { roundMs, type Logger } from '../../../core/log.ts'
import type { IngestMetrics } from '../accept/ingest-metrics.ts'
import type { Answer } from './answer.ts'

interface Asked {
  method?: string
  remoteIp?: string
  sourceId?: string | undefined
  /** On the monotonic clock. */
  startedAt: number
}

/** The line and the counts of a request that is answered: every request comes here once. */
export function report(
  { requestLog, metrics }: { requestLog: Logger; metrics: IngestMetrics },
  { outcome, status, headers, reason, rejection }: Answer,
  { method, remoteIp, sourceId, startedAt }: Asked,
): void {
  const tookMs = performance.now() - startedAt
  metrics.requests[outcome]++
  if (rejection !== undefined) metrics.rejections[rejection.reason]++
  metrics.observeRequest(tookMs / 1_000)
  requestLog.info(
    {
      sourceId: sourceId === undefined ? undefined : encodeId('src', sourceId),
      eventId: headers['postern-event-id'],
      method,
      remoteIp,
      outcome,
      status,
      reason,
      rejectionReason: rejection?.reason,
      rejectionDetail: rejection?.detail,
      durationMs: roundMs(tookMs),
    },
    'Handled a request',
  )
}
