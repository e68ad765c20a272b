import { storesDeliveries } from '../../core/jetstream/store-probe.ts'
import { openLog } from '../../core/log.ts'
import { openNats, type NatsConnection } from '../../core/nats.ts'
import type { Server } from './server.ts'

const SILENT = openLog('silent', 'standalone')

/** Tells whether a NATS server stores messages. True for one that cannot be reached: dead, frozen or just starting. */
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
