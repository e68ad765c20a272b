import { createHmac } from 'node:crypto'

import { nowMs } from './clock.ts'

/** The secret of a source that verifies Standard Webhooks. */
export const SECRET = `whsec_${btoa('a secret of enough length')}`
export const OTHER_SECRET = `whsec_${btoa('another secret, as long as it')}`

/** A source with this member takes what `signed` makes. */
export const SIGNED = { verifier: { preset: 'standardWebhooks', secret: SECRET } } as const

interface Signed {
  body: string
  headers: Record<string, string>
}

/** Signs as the provider would, so many seconds ago. */
export function signed(
  body = '{}',
  { secret = SECRET, id = 'msg_1', ageSeconds = 0 } = {},
): Signed {
  const timestamp = String(Math.floor(nowMs() / 1_000) - ageSeconds)
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${mac}`,
  }
  return { body, headers }
}

/** The same request with some headers otherwise, or without them. */
export function changed(sent: Signed, headers: Record<string, string | undefined>): Signed {
  const all = Object.entries({ ...sent.headers, ...headers })
  const kept = all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return { ...sent, headers: Object.fromEntries(kept) }
}
