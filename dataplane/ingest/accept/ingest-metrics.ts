import { Histogram, type Registry } from 'prom-client'

import { counterOf, countsOf, gaugeOf } from '../../../core/metrics/instruments.ts'
import {
  REJECTION_REASONS,
  type RejectionReason,
} from '../../../core/verify/request/signed-request.ts'

/** How a request ends, in its log line and in the metrics. The only list of these words. */
const REQUEST_OUTCOMES = [
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
  'handshake',
  'head',
  'aborted',
] as const

export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number]

export interface IngestMetrics {
  requests: Record<RequestOutcome, number>
  rejections: Record<RejectionReason, number>
  /** Requests that are not answered yet. */
  inFlight: number
  observeRequest(seconds: number): void
  observeBatch(events: number): void
}

/** Seconds: from an answer without a commit to the longest wait for one. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export function openIngestMetrics(
  registry: Registry,
  publisher: { readonly dropped: number },
): IngestMetrics {
  const seconds = new Histogram({
    name: 'postern_ingest_request_duration_seconds',
    help: 'Time from a request with its headers to its answer',
    buckets: REQUEST_BUCKETS,
    registers: [registry],
  })
  const batches = new Histogram({
    name: 'postern_ingest_batch_events',
    help: 'Events of a batch, which is stored in one commit',
    buckets: BATCH_BUCKETS,
    registers: [registry],
  })
  const metrics: IngestMetrics = {
    requests: countsOf(registry, {
      name: 'postern_ingest_requests_total',
      help: 'Requests by outcome',
      label: 'outcome',
      values: REQUEST_OUTCOMES,
    }),
    rejections: countsOf(registry, {
      name: 'postern_ingest_rejections_total',
      help: 'Requests whose verification failed, by reason',
      label: 'reason',
      values: REJECTION_REASONS,
    }),
    inFlight: 0,
    observeRequest: (value) => seconds.observe(value),
    observeBatch: (value) => batches.observe(value),
  }
  gaugeOf(
    registry,
    {
      name: 'postern_ingest_requests_in_flight',
      help: 'Requests that are not answered yet',
    },
    () => metrics.inFlight,
  )
  counterOf(
    registry,
    {
      name: 'postern_ingest_unpublished_deliveries_total',
      help: 'Deliveries whose message was not acknowledged: the sweeper dispatches them',
    },
    () => publisher.dropped,
  )
  return metrics
}
