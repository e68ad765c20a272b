import { encodeId } from '../../../core/ids.ts'
import { roundMs, type Logger } from '../../../core/log.ts'
import type { MailMetrics } from './mail-metrics.ts'
import type { Envelope } from './message/mail-payload.ts'
import type { Reply } from './reply.ts'

interface About {
  envelope: Envelope
  sourceId?: string | undefined
  bytes?: number
  /** On the monotonic clock. */
  startedAt: number
}

/** The line and the counts of a mail for one recipient. Addresses of people are in no line. */
export function reportMail(
  { requestLog, metrics }: { requestLog: Logger; metrics: MailMetrics },
  { outcome, code, text, eventId }: Reply,
  { envelope, sourceId, bytes, startedAt }: About,
): void {
  const tookMs = performance.now() - startedAt
  metrics.mails[outcome]++
  if (bytes !== undefined) metrics.observeMail(tookMs / 1_000)
  requestLog.info(
    {
      sourceId: sourceId === undefined ? undefined : encodeId('src', sourceId),
      eventId,
      remoteIp: envelope.remoteIp,
      isTls: envelope.tls,
      outcome,
      status: code,
      reason: code < 300 ? undefined : text,
      sizeBytes: bytes,
      durationMs: roundMs(tookMs),
    },
    'Handled a mail',
  )
}
