import type { Db, Pool } from '../../../core/db/connection/db.ts'
import { disableDestination } from '../../../core/db/deliveries/work/delivery-destinations.ts'
import { directTransport } from '../../../core/delivery/direct/exchange.ts'
import { Connections } from '../../../core/delivery/direct/http-connections.ts'
import { guardedLookup } from '../../../core/egress/connect.ts'
import { Names } from '../../../core/egress/names.ts'
import { withoutRedaction } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import { announceChanges } from '../../../core/notices/config-changes.ts'
import type { Tracing } from '../../../core/tracing/tracing.ts'
import { within } from '../../../core/within.ts'
import type { WholeWork } from '../in-flight/work.ts'
import { openRecorder, type RecorderDeps } from '../record/recorder.ts'
import type { Results } from '../record/results.ts'
import { AccessTokens } from './access-tokens.ts'
import { openAttemptTraces } from './attempt-traces.ts'
import { deliver, type Answered, type DeliverDeps, type Target } from './deliver.ts'
import type { CompileDeps } from './destination.ts'
import { GatewayCalls } from './gateway-calls.ts'
import { watchGateways } from './gateway-watch.ts'
import { privateTransport } from './private.ts'
import { openReach } from './reach.ts'
import { startTester } from './test-delivery.ts'

export interface SenderDeps
  extends CompileDeps, Pick<DeliverDeps, 'clock' | 'log' | 'inFlight' | 'random'> {
  results: Results
  pool: Pool
  db: Db
  nats: NatsConnection
  /** The name that claimed rows carry. */
  name: string
  socketsMax: number
  metrics: RecorderDeps['metrics']
  tracing?: Tracing | undefined
}

export interface Sender {
  /** Makes one attempt and hands its result on to be written. Resolves with the consequences for the lane. */
  deliver: (work: WholeWork, to: Target) => Promise<Answered>
  tester: ReturnType<typeof startTester>
  /** Resolves when what is under way has ended. A call through a gateway is lost if it lasts longer than `withinMs`. */
  close(withinMs: number): Promise<void>
}

/** All that sends requests to destinations, over connections that it alone has. */
export function openSender(deps: SenderDeps): Sender {
  const { db, clock, log, isAllowed } = deps
  const names = new Names()
  const connections = new Connections(
    (tenant) => guardedLookup(isAllowed, names, tenant),
    deps.socketsMax,
  )
  const direct = directTransport(connections)
  const tokens = new AccessTokens({ send: direct, clock, isAllowed })
  const calls = new GatewayCalls(deps.nats)
  const watch = watchGateways(deps.nats, calls)
  const reach = openReach(direct, (connectorId) => privateTransport(calls, connectorId))
  const attemptLog = withoutRedaction(log)
  const trace = deps.tracing && openAttemptTraces(deps.tracing)
  const disable = async (destinationId: string): Promise<void> => {
    await disableDestination(db, destinationId, 'gone', clock.now())
    await announceChanges(deps, [{ kind: 'destination', id: destinationId }])
  }
  const deliverDeps: DeliverDeps = {
    ...deps,
    reach,
    tokens,
    trace,
    record: openRecorder({ ...deps, attemptLog }),
    disable: (destinationId) => {
      disable(destinationId).catch((err: unknown) =>
        log.error({ err }, 'Cannot disable a destination'),
      )
    },
  }
  const underWay = new Set<Promise<Answered>>()
  return {
    deliver(work, to) {
      const attempt = deliver(deliverDeps, work, to)
      underWay.add(attempt)
      return attempt.finally(() => underWay.delete(attempt))
    },
    tester: startTester({ ...deps, attemptLog, reach, tokens, trace, names }),
    async close(withinMs) {
      await within(withinMs, Promise.allSettled(underWay), () => undefined)
      watch[Symbol.dispose]()
      calls[Symbol.dispose]()
      await connections.close()
    },
  }
}
