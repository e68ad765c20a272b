import { setTimeout as sleep } from 'node:timers/promises'

import { request } from 'undici'

import type { Tenant } from './tenant.ts'

/** The installation and listeners that an attack runs on. */
export interface Ground {
  tenant: Tenant
  /** Another destination of this origin is the bystander's; its path `/slow` is never answered. */
  sharedOrigin: string
  /** Where ingest takes mail. */
  smtpPort: number
  /** Ends with the attack. */
  stack: AsyncDisposableStack
}

/** Begins, and goes on until the stack of its ground is disposed of. */
export type Attack = (ground: Ground) => Promise<void>

/** After a failure, as when the part that it goes to was killed. */
const REST_MS = 200

/** Does something so many times a second, `most` at once: what is due beyond that is left out. */
export function atRate(
  { stack }: Ground,
  { perSecond, most = perSecond }: { perSecond: number; most?: number },
  act: () => Promise<unknown>,
): void {
  let underWay = 0
  const timer = setInterval(() => {
    if (underWay >= most) return
    underWay++
    act()
      .catch(() => undefined)
      .finally(() => underWay--)
  }, 1_000 / perSecond)
  stack.defer(() => clearInterval(timer))
}

/** Does something `count` times side by side, each again as soon as it is over. */
export function sideBySide({ stack }: Ground, count: number, act: () => Promise<unknown>): void {
  const over = new AbortController()
  stack.defer(() => over.abort())
  const go = async (): Promise<void> => {
    while (!over.signal.aborted) await act().catch(async () => await sleep(REST_MS))
  }
  for (let n = 0; n < count; n++) void go()
}

/** Sends to a source; the answer is of no interest. */
export async function post(
  ingestUrl: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<void> {
  const answer = await request(ingestUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  await answer.body.dump()
}
