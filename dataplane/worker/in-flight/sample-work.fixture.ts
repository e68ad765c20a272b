import { DEFAULT_RETRY_POLICY } from '../../../core/delivery/retry.ts'
import type { Destination } from '../send/destination.ts'
import { ByteBudget } from './byte-budget.ts'
import type { Work } from './work.ts'

/** For tests: a delivery as it comes from the stream, small and with nothing to answer. */
export function sampleWork(fields: Partial<Work> = {}): Work {
  return {
    retentionClass: 90,
    deliveryId: '01890a5d-ac96-774b-bcce-b302099a8057',
    eventId: null,
    sourceId: null,
    connectionId: null,
    organisationId: '',
    projectId: '',
    destinationId: '',
    partition: 0,
    hold: { partition: 0, epoch: 1 },
    attemptTrigger: 'initial',
    attemptCount: 0,
    attemptNumber: 0,
    maxAttempts: 8,
    throttled: null,
    firstAttemptAtMs: null,
    isReplay: false,
    resumes: null,
    leaseUntilMs: 0,
    isWaiting: false,
    isOrphan: false,
    event: { headers: '[]', verifiedWith: 'none', remoteIp: '', sourceName: '' },
    body: Buffer.alloc(0),
    largeBodyRoom: [],
    bytes: 0,
    room: new ByteBudget(0).reserve(0),
    allowance: null,
    message: null,
    place: 'lane',
    queuedAt: 0,
    askedAt: 0,
    ...fields,
  }
}

/** For tests: enabled, at no pace and with nothing of its own. */
export const SAMPLE_DESTINATION: Destination = {
  id: '',
  organisationId: '',
  pace: undefined,
  organisationPace: undefined,
  partition: 0,
  isEnabled: true,
  connectorId: null,
  url: '',
  origin: '',
  path: '',
  method: 'POST',
  headers: [],
  headerNames: null,
  signer: [],
  overlap: null,
  oauth2: null,
  timeoutMs: 30_000,
  maxConcurrency: null,
  retryPolicy: DEFAULT_RETRY_POLICY,
  isBlocked: false,
  resumedAtMs: null,
  busy: null,
}
