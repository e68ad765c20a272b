import type { Config } from './config.ts'
import { checkDatabase } from './db/usable.ts'
import { connectNats } from './jetstream/connect-nats.ts'
import type { NatsConnection } from './nats.ts'
import { natsFilesOf } from './settings/nats-files.ts'
import { whenUsable, type Patience } from './start-up.ts'

/**
 * Resolves with the connection to NATS when that and PostgreSQL can be used. It waits for both at once, so that both are
 * named when both are away.
 */
export async function awaitServices(
  config: Config,
  role: string,
  patience: Patience,
): Promise<NatsConnection> {
  const { DATABASE_URL, NATS_URL } = config
  const files = natsFilesOf(config)
  const [nats] = await Promise.all([
    whenUsable('NATS', () => connectNats(NATS_URL, role, patience.log, files), patience),
    whenUsable('PostgreSQL', () => checkDatabase(DATABASE_URL), patience),
  ])
  return nats
}
