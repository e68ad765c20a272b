import { storesDeliveries } from '../core/jetstream/store-probe.ts'
import { openLog } from '../core/log.ts'
import { openNats, type NatsConnection } from '../core/nats.ts'
import type { Server } from './server.ts'

const SILENT = openLog('silent', 'standalone')

/** Whether a NATS server stores what it is given. One that cannot be reached is dead, frozen or just starting: not our matter. */
export async function works({ url }: Server): Promise<boolean> {
  let nats: NatsConnection
  try {
    nats = await openNats(url, 'standalone', SILENT)
  } catch {
    return true
  }
  try {
    return await storesDeliveries(nats)
  } finally {
    await nats.close()
  }
}
