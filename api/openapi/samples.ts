import { encodeId, type Prefix } from '../../core/ids.ts'
import { VerifierConfig } from '../../core/verify/config/verifier-config.ts'
import { expandPreset } from '../../core/verify/presets/presets.ts'
import type { Json } from './json.ts'

export const MOMENT = '2026-11-20T09:00:00.000Z'
/** Made at that moment. */
export const UUID = '01a1f82f-1e80-7c40-9d3a-6f1b2c3d4e5f'

const ENDED = '2026-11-20T09:00:00.184Z'
const BODY = '{"id":"evt_1","type":"invoice.paid","amount":12}'
const ENDPOINT = { url: 'https://shop.example.com/webhooks' }
const ROUTE = { name: 'paid', filter: { eventTypes: ['invoice.*'] } }
const JSON_HEADERS = [['content-type', 'application/json']]

const SOURCE = {
  verifier: VerifierConfig.parse(expandPreset({ preset: 'stripe' })),
  eventTypeField: 'body.type',
  idempotencyKeys: ['body.id'],
}

const EVENT = {
  status: 'received',
  eventType: 'invoice.paid',
  idempotencyKey: 'evt_1',
  verifiedWith: 'stripe',
  contentType: 'application/json',
  sizeBytes: Buffer.byteLength(BODY),
  isBinary: false,
}

const DELIVERY = {
  eventId: sampleId('evt'),
  connectionId: sampleId('con'),
  sourceId: sampleId('src'),
  status: 'succeeded',
  maxAttempts: 8,
  lastAttempt: { at: MOMENT, responseStatus: 200, errorCode: null, durationMs: 121.4 },
  completedAt: ENDED,
}

const PHASES = { dnsMs: 4.2, connectMs: 18.6, tlsMs: 41.3, firstByteMs: 56.9, totalMs: 121.4 }

/**
 * All examples tell the same story: an invoice that Stripe sends reaches a shop at the first attempt. By the name of a
 * schema, these are the members that the schema alone does not give.
 */
export const SAMPLES: Readonly<Record<string, Json>> = {
  Attempt: {
    durationMs: PHASES.totalMs,
    requestUrl: ENDPOINT.url,
    requestHeaders: [...JSON_HEADERS, ['webhook-id', sampleId('dlv')]],
    responseStatus: 200,
    responseHeaders: [['content-type', 'text/plain']],
    responseBody: 'ok',
  },
  AttemptPhases: PHASES,
  Connection: ROUTE,
  ConnectionChanges: { filter: ROUTE.filter },
  ConnectionCreate: ROUTE,
  ConnectionUpsert: { filter: ROUTE.filter },
  Delivery: DELIVERY,
  DeliveryWithAttempts: DELIVERY,
  Destination: {
    name: 'shop',
    ...ENDPOINT,
    headers: {},
    retryPolicy: {
      strategy: 'schedule',
      scheduleSeconds: [5, 300, 1800, 7200, 18_000, 36_000, 36_000],
      maxAttempts: 8,
    },
  },
  DestinationChanges: ENDPOINT,
  DestinationCreate: { name: 'shop' },
  Event: {
    ...EVENT,
    headers: JSON_HEADERS,
    payload: JSON.parse(BODY),
    raw: BODY,
    rawBase64: Buffer.from(BODY).toString('base64'),
  },
  EventSummary: EVENT,
  Operation: {
    kind: 'retry',
    status: 'running',
    filter: { status: 'failed', to: MOMENT },
    matched: 12,
    truncated: false,
    processed: 10,
    failed: 1,
    failures: { CONFLICT: 1 },
  },
  OperationPlan: { kind: 'retry', matched: 12, truncated: false },
  Project: { name: 'Default' },
  ProjectCreate: { name: 'Default' },
  Source: {
    name: 'stripe',
    ...SOURCE,
    secretHint: '6f1b',
    bodyAuthenticated: true,
    rateLimit: 500,
    lastEventAt: MOMENT,
  },
  SourceChanges: { eventTypeField: SOURCE.eventTypeField },
  Verdict: { cause: 'delivered', sentence: 'Delivered at the first attempt', since: ENDED },
  VerifierPreset: { preset: 'stripe' },
}

/** A fixed id for each kind, so that the examples of several operations fit together. */
export function sampleId(prefix: Prefix): string {
  return encodeId(prefix, UUID)
}
