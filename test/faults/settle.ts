import { expect } from 'vitest'

import type { Sent } from './load.ts'
import type { Relay } from './relay.ts'
import { missing, unsettled, type Route } from './route.ts'
import { accountOf, isAccepted, printAccount, type Account } from './tally.ts'
import { until } from './until.ts'

/** Longer than the lease and the sweep behind it: 15 s, 5 s and 1 s. */
const SETTLED_MS = 60_000

/**
 * Waits until all that was accepted is delivered and recorded, prints the account, and asserts what holds after every
 * fault: nothing accepted is lost, and every arrival of an event carries the same `webhook-id`.
 */
export async function settle(
  name: string,
  relay: Pick<Relay, 'query'>,
  { route, sent }: { route: Route; sent: readonly Sent[] },
): Promise<Account> {
  const { arrivals } = route.destination
  const accepted = sent.filter(isAccepted)
  const isDelivered = (): boolean => accepted.every(({ number }) => arrivals.has(number))
  await until(`${name}: all is delivered`, isDelivered, SETTLED_MS).catch(() => {})
  const isRecorded = async (): Promise<boolean> => (await unsettled(relay, route)).length === 0
  await until(`${name}: all is recorded`, isRecorded, SETTLED_MS).catch(() => {})

  const account = accountOf(sent, arrivals)
  printAccount(name, account)
  expect(account).toMatchObject({ lost: 0 })
  expect(await unsettled(relay, route)).toEqual([])
  expect(await missing(relay, sent)).toEqual([])
  const ids = [...arrivals.values()].map((same) => new Set(same.map((one) => one.webhookId)).size)
  expect(Math.max(...ids)).toBe(1)
  return account
}
