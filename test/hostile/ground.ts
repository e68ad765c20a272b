import { z } from 'zod'

import { A, openNameServer } from '../../core/egress/name-server.fixture.ts'
import { startRelay, type Relay } from '../faults/relay.ts'
import { openRoute, type Route } from '../faults/route.ts'
import type { Wish } from './attacker.ts'
import type { AttackName } from './attacks.ts'
import { startAttacks } from './start-attacks.ts'
import { makeOrganisation } from './tenant.ts'

/** Answers live so briefly that look-ups go on. */
const TTL_SECONDS = 1
const BYSTANDER = 'bystander.example'
const Mailbox = z.object({ ingestAddress: z.string() })
const PRELOADED = new URL('ask-name-server.ts', import.meta.url)

/** A relay with two tenants: one that means harm, and one beside it, whose destination has a name. */
export interface HostileGround extends AsyncDisposable {
  relay: Relay
  bystander: Route
  /** The address of a source of the bystander. */
  mailAddress: string
  /** Resolves when they are under way. */
  attack(names: readonly AttackName[]): Promise<AsyncDisposable>
}

export async function openGround(
  options: Parameters<typeof openRoute>[2] = {},
): Promise<HostileGround> {
  await using stack = new AsyncDisposableStack()
  const zone = (name: string, type: number): string[] | 'silent' => {
    if (name !== BYSTANDER) return 'silent'
    return type === A ? ['127.0.0.1'] : []
  }
  const nameServer = stack.use(await openNameServer(zone, TTL_SECONDS))
  const relay = stack.use(
    await startRelay({
      SMTP_PORT: '0',
      NAME_SERVER: nameServer.address,
      NODE_OPTIONS: `--import=${PRELOADED.href}`,
      // The tenants here keep to the rate of one key by themselves; the bystander is looked at more often.
      API_REQUESTS_PER_MINUTE: '1000000',
    }),
  )
  const bystander = stack.use(await openRoute(relay, 'bystander', { ...options, host: BYSTANDER }))
  const { port } = new URL(bystander.destination.url)
  const sharedOrigin = `http://127.0.0.1:${port}`
  const { ingestAddress: mailAddress } = Mailbox.parse(
    await relay.api('POST', '/v1/sources', { name: 'bystander mails', kind: 'email' }),
  )
  let tenants = 0
  const owned = stack.move()
  return {
    relay,
    bystander,
    mailAddress,
    async attack(names) {
      const credentials = await makeOrganisation(relay, `hostile ${++tenants}`)
      const wish: Wish = { names, credentials, sharedOrigin, smtpPort: relay.smtpPort }
      return await startAttacks(wish)
    },
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}
