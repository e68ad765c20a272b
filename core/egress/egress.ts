import { Agent, type Dispatcher } from 'undici'

import { compileCidrs, isReachable } from './address.ts'
import { checkUrl, guardedLookup, type IsAllowed } from './connect.ts'
import { Names } from './names.ts'

/** Whoever waits for these answers has a sender that waits for its own. */
const CONNECT_TIMEOUT_MS = 2_000

/** The way out of this process: what it may dial, and a dispatcher that dials nothing else. */
export interface Egress {
  isAllowed: IsAllowed
  dispatcher: Dispatcher
}

/** `allowCidrs` opens private ranges. (decisions: Delivery, SSRF) */
export function openEgress(allowCidrs: readonly string[]): Egress & AsyncDisposable {
  const allowed = compileCidrs(allowCidrs)
  const isAllowed: IsAllowed = (ip) => isReachable(ip, allowed)
  const agent = new Agent({
    connect: { lookup: guardedLookup(isAllowed, new Names()), timeout: CONNECT_TIMEOUT_MS },
  })
  // A socket asks no resolver for a literal address, so those are looked at before.
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    const fault = checkUrl(new URL(String(options.origin)), isAllowed)
    if (fault !== undefined) throw new Error(`Cannot dial ${String(options.origin)}: ${fault}`)
    return dispatch(options, handler)
  })
  return { isAllowed, dispatcher, [Symbol.asyncDispose]: async () => await agent.destroy() }
}
