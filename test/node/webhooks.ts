import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { api, CUSTOMER, made, MINUTES } from './site.ts'

/** Webhooks that are sent to the relay, and those that the customer's service got. */
const received = async (): Promise<Set<string>> => {
  const response = await fetch(`http://billing.${CUSTOMER}.svc:8080/`)
  return new Set(z.array(z.string()).parse(await response.json()))
}

/** Sends so many webhooks, again until each is accepted; their events' ids. */
export async function send(count: number, pauseMs = 0): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    ids.push(await sendOne(at))
    await sleep(pauseMs)
  }
  return ids
}

async function sendOne(at: number): Promise<string> {
  for (const end = Date.now() + MINUTES; ; await sleep(200)) {
    try {
      const body = JSON.stringify({ at })
      const signal = AbortSignal.timeout(10_000)
      const response = await fetch(made.ingest, { method: 'POST', body, signal })
      if (response.ok) return z.object({ eventId: z.string() }).parse(await response.json()).eventId
      await response.body?.cancel()
    } catch {
      // A pod that went away with the request: no answer, and so nothing that was promised.
    }
    if (Date.now() > end) throw new Error('No ingest takes a webhook')
  }
}

/** Events of which the service has not got every delivery, once there is nothing more to come. */
export async function missing(eventIds: readonly string[]): Promise<string[]> {
  let left = [...eventIds]
  for (const end = Date.now() + 3 * MINUTES; left.length > 0 && Date.now() < end;) {
    const seen = await received()
    const still: string[] = []
    for (const eventId of left) {
      const { data } = await api('GET', `/deliveries?eventId=${eventId}`)
      const deliveries = z.array(z.object({ id: z.string() })).parse(data)
      const came = deliveries.filter(({ id }) => seen.has(id))
      if (came.length < made.ways || came.length < deliveries.length) still.push(eventId)
    }
    left = still
    if (left.length > 0) await sleep(1_000)
  }
  return left
}
