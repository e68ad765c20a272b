import { Histogram, type Registry } from 'prom-client'

import { countsOf, gaugeOf } from '../../../core/metrics/instruments.ts'

/** How a mail ends for one of its recipients: a part of the outcomes that a request has. */
const MAIL_OUTCOMES = [
  'stored',
  'duplicate',
  'rejected',
  'rate_limited',
  'too_large',
  'unsupported_body',
  'quota_exceeded',
  'not_found',
  'unavailable',
  'bad_request',
  'aborted',
] as const

export type MailOutcome = (typeof MAIL_OUTCOMES)[number]

export interface MailMetrics {
  mails: Record<MailOutcome, number>
  observeMail(seconds: number): void
}

/** Seconds, from the last byte of a message to its answer. */
const BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function openMailMetrics(registry: Registry, connections: () => number): MailMetrics {
  const seconds = new Histogram({
    name: 'postern_ingest_mail_duration_seconds',
    help: 'Time from the last byte of a mail to its answer',
    buckets: BUCKETS,
    registers: [registry],
  })
  gaugeOf(
    registry,
    { name: 'postern_ingest_mail_connections', help: 'Open connections of senders of mail' },
    connections,
  )
  return {
    mails: countsOf(registry, {
      name: 'postern_ingest_mails_total',
      help: 'Mails by outcome, each once for each of its recipients',
      label: 'outcome',
      values: MAIL_OUTCOMES,
    }),
    observeMail: (value) => seconds.observe(value),
  }
}
