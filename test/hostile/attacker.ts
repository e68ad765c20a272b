import { once } from 'node:events'

import { Agent, setGlobalDispatcher } from 'undici'

import { ATTACKS, type AttackName } from './attacks.ts'
import { Tenant, type Credentials } from './tenant.ts'

export interface Wish {
  names: readonly AttackName[]
  credentials: Credentials
  sharedOrigin: string
  smtpPort: number
}

/** A killed role leaves requests without an answer. */
const ANSWER_MS = 65_000
const CONNECTIONS = 256

/** Runs what it is wished, says so when all is under way, and ends with its input. */
async function attack({ names, credentials, ...places }: Wish): Promise<void> {
  const timeouts = { headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS }
  setGlobalDispatcher(new Agent({ connections: CONNECTIONS, ...timeouts }))
  await using stack = new AsyncDisposableStack()
  const ground = { tenant: new Tenant(credentials), ...places, stack }
  for (const name of names) await ATTACKS[name](ground)
  process.stdout.write('under way')
  process.stdin.resume()
  await once(process.stdin, 'end')
}

await attack(JSON.parse(process.argv[2] ?? ''))
process.exit()
