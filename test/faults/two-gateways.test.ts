import { expect, test } from 'vitest'
import { z } from 'zod'

import { decodeId } from '../../core/ids.ts'
import { DESTINATION_CONCURRENCY_DEFAULT } from '../../core/limits.ts'
import { freePorts } from '../../standalone/processes/ports.ts'
import { openBalancer } from './balancer.ts'
import { openConnector } from './connector.ts'
import { startLoad } from './load.ts'
import { startRelay } from './relay.ts'
import { openRoute } from './route.ts'
import { settle } from './settle.ts'
import { until } from './until.ts'

const PER_SECOND = 60
/** Each answer takes so long that requests are under way at both gateways. */
const DELAY_MS = 200
const PATIENT = { retryPolicy: { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 50 } }
/** A second session is looked for once a minute where the last look found one gateway. */
const SECOND_SESSION_MS = 150_000
const GOES_ON_MS = 10_000
const TIMEOUT_MS = 480_000
const Counted = z.object({ count: z.number() })

test(
  'kill -9 of a gateway under load: another one goes on, nothing is lost, and agents come back to both',
  async () => {
    const [balanced = 0, first = 0, second = 0] = await freePorts(3)
    await using _balancer = await openBalancer(balanced, [first, second])
    await using relay = await startRelay({
      GATEWAY_PORT: String(first),
      GATEWAY_URL: `ws://127.0.0.1:${balanced}`,
    })
    await using doomed = relay.startSecondGateway(second)
    await using connector = await openConnector(relay, 'two gateways')
    const destination = { ...PATIENT, ...connector.destination }
    await using route = await openRoute(relay, 'two gateways', {
      destination,
      delayMs: DELAY_MS,
      keepsBodies: false,
    })
    for (const name of ['one', 'two']) connector.startAgent(name, [route.destination.url])
    const sessions = async (wanted: number, withinMs: number): Promise<void> => {
      const areThere = async (): Promise<boolean> => {
        const [row] = await relay.query(
          `select count(*)::int4 as count from tunnel_session t join process p on p.id = t.gateway_id
          where t.connector_id = $1::uuid and p.seen_at > clock_timestamp() - interval '5 seconds'`,
          [decodeId('cnr', connector.id)],
        )
        return Counted.parse(row).count === wanted
      }
      await until(`${wanted} sessions`, areThere, withinMs)
    }
    await sessions(4, SECOND_SESSION_MS)
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(4 * PER_SECOND)

    const { arrivals } = route.destination
    await doomed.kill()
    const arrived = arrivals.size
    const goesOn = (): boolean => arrivals.size > arrived + 2 * PER_SECOND
    await until('deliveries go on through the other gateway', goesOn, GOES_ON_MS)
    await sessions(2, SECOND_SESSION_MS)

    await using _again = relay.startSecondGateway(second)
    await sessions(4, SECOND_SESSION_MS)
    await load.goesOn(2 * PER_SECOND)
    const account = await settle('one gateway of two killed', relay, {
      route,
      sent: await load.stop(),
    })
    // Requests that were under way at the dead gateway, at most as many as the destination gets at once.
    expect(account.duplicated).toBeLessThanOrEqual(DESTINATION_CONCURRENCY_DEFAULT)
    await connector.online(2)
  },
  TIMEOUT_MS,
)
