import { isShareSpent } from '../../../core/db/configuration/organisation-shares.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { insertTestDelivery } from '../../../core/db/deliveries/work/test-deliveries.ts'
import { isBusyAnswer } from '../../../core/delivery/retry.ts'
import type { AttemptOutcome } from '../../../core/delivery/states.ts'
import { mayDial } from '../../../core/egress/connect.ts'
import type { Names } from '../../../core/egress/names.ts'
import { newId } from '../../../core/ids.ts'
import { TESTS_PER_ORGANISATION, TESTS_PER_PROCESS } from '../../../core/limits.ts'
import { roundMs, type Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import {
  serveTests,
  type TestDelivery,
  type TestOutcome,
} from '../../../core/notices/ask-test-delivery.ts'
import { within } from '../../../core/within.ts'
import { readDestination, type CompileDeps } from './destination.ts'
import { makeAttempt, type Outcome, type AttemptDeps } from './make-attempt.ts'

export interface TesterDeps extends AttemptDeps, CompileDeps {
  db: Db
  nats: NatsConnection
  names: Names
  log: Logger
  /** Gets a line for each attempt. */
  attemptLog: Logger
}

/**
 * Makes test deliveries: one attempt each, sent as every other, outside lanes, pacing, quota and statistics. It is
 * stored when it is over, so that a worker that dies leaves nothing behind that waits.
 */
export function startTester(deps: TesterDeps): { drain(maxMs: number): Promise<void> } {
  // Each holds a socket and its body for as long as its endpoint takes.
  const underWay = new Map<Promise<TestOutcome>, string>()
  const serving = serveTests(deps.nats, async (test) => {
    const share = test.share ?? test.organisationId ?? ''
    if (underWay.size >= TESTS_PER_PROCESS) return { kind: 'unavailable' }
    const bounds = { own: TESTS_PER_ORGANISATION, whole: TESTS_PER_PROCESS }
    if (isShareSpent(share, underWay.values(), bounds))
      return { kind: 'unavailable', isShareSpent: true }
    const making = make(deps, test).catch((err: unknown): TestOutcome => {
      deps.log.warn({ err }, 'Cannot make a test delivery')
      return { kind: 'unavailable' }
    })
    underWay.set(making, share)
    const outcome = await making
    underWay.delete(making)
    return outcome
  })
  return {
    async drain(maxMs) {
      serving.stop()
      await within(maxMs, Promise.all(underWay.keys()), () => undefined)
    },
  }
}

async function make(deps: TesterDeps, test: TestDelivery): Promise<TestOutcome> {
  const destination = await readDestination(deps, test.destinationId)
  if (destination === undefined) return { kind: 'deleted' }
  const { connectorId } = destination
  const isReachable =
    connectorId !== null || (await mayDial(new URL(destination.url), deps.isAllowed, deps.names))
  if (!isReachable) return { kind: 'not_public' }
  const deliveryId = newId(deps.clock.now())
  const { made, typeIds, response, traced } = await makeAttempt(
    deps,
    {
      deliveryId,
      eventId: null,
      connectionId: null,
      attemptTrigger: 'initial',
      attemptNumber: 0,
      event: {
        headers: JSON.stringify(test.headers),
        verifiedWith: null,
        remoteIp: '',
        sourceName: null,
      },
      body: Buffer.from(test.bodyBase64, 'base64'),
    },
    destination,
  )
  const attempt = { ...made, outcome: outcomeOf(response) }
  traced?.end(attempt)
  deps.attemptLog.info(
    {
      deliveryId: typeIds.deliveryId,
      destinationId: typeIds.destinationId,
      outcome: attempt.outcome,
      responseStatus: attempt.responseStatus,
      errorCode: attempt.errorCode,
      durationMs: roundMs(attempt.durationMs),
    },
    'Attempted a test delivery',
  )
  await insertTestDelivery(deps.db, { ...test, retentionClass: test.class, deliveryId, attempt })
  return { kind: 'made', deliveryId }
}

function outcomeOf({ error, status, tokenUrl }: Outcome): AttemptOutcome {
  if (error === null) return 'succeeded'
  return isBusyAnswer(status, tokenUrl !== undefined) ? 'busy' : 'failed'
}
