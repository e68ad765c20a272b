import { z } from 'zod'

import { clientWaitMs } from '../../core/delivery/retry-after.ts'
import type { Reach } from './proxy.ts'
import { callRelay, type RelayReply } from './relay-call.ts'

const hosts = z
  .array(z.string())
  .max(100)
  .nullish()
  .transform((list) => list ?? [])
const interval = z.number().min(1).max(3_600)

const Enrolment = z.object({
  connectorId: z.string(),
  replicaId: z.string(),
  heartbeatToken: z.string(),
  heartbeatIntervalSeconds: interval,
  gatewayUrl: z.string(),
  allowedHosts: hosts,
})

const Heartbeat = z.object({
  heartbeatIntervalSeconds: interval,
  gatewayUrl: z.string(),
  allowedHosts: hosts,
  isDisabled: z.boolean(),
  nextToken: z.string().nullish(),
})

const Refusal = z.object({
  code: z.string(),
  message: z.string(),
  data: z.looseObject({ reason: z.string().optional() }).nullish(),
})

type Enrolment = z.infer<typeof Enrolment>
type Heartbeat = z.infer<typeof Heartbeat>

/** The answer of the relay, or why there is none. */
export type RelayAnswer<T> =
  | { kind: 'ok'; value: T }
  | {
      kind: 'refused'
      status: number
      /** Empty when what answered is no relay. */
      code: string
      message: string
      reason: string | undefined
      location: string | undefined
      retryAfterMs: number | undefined
    }
  | { kind: 'failed'; error: Error }

/** In place of an answer where there is nothing to ask with. */
export const NO_KEY: Extract<RelayAnswer<never>, { kind: 'refused' }> = {
  kind: 'refused',
  status: 0,
  code: 'NO_KEY',
  message: 'there is no enrolment key. Give one with --enrollment-key-file',
  reason: undefined,
  location: undefined,
  retryAfterMs: undefined,
}

export interface Relay {
  bootstrap(key: string, facts: object): Promise<RelayAnswer<Enrolment>>
  heartbeat(token: string, facts: object): Promise<RelayAnswer<Heartbeat>>
}

interface Options {
  url: string
  reach: Reach
  /** Told with each answer by how much the relay's clock is ahead. */
  onClock: (aheadMs: number) => void
}

/** The two endpoints of a relay that an agent uses. Never throws. */
export function openRelay({ url, reach, onClock }: Options): Relay {
  const post = async <T>(
    path: string,
    { token, body, schema }: { token: string; body: object; schema: z.ZodType<T> },
  ): Promise<RelayAnswer<T>> => {
    try {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const call = { method: 'POST', headers, body: JSON.stringify(body) }
      const reply = await callRelay(new URL(path, url), reach, call)
      const date = Date.parse(reply.date ?? '')
      if (!Number.isNaN(date)) onClock(date - Date.now())
      return read(reply, schema)
    } catch (error) {
      return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
    }
  }
  return {
    bootstrap: async (token, body) =>
      await post('/v1/connectors/bootstrap', { token, body, schema: Enrolment }),
    heartbeat: async (token, body) =>
      await post('/v1/connectors/replicas/heartbeat', { token, body, schema: Heartbeat }),
  }
}

function read<T>(reply: RelayReply, schema: z.ZodType<T>): RelayAnswer<T> {
  const json = parse(reply.text)
  if (reply.status === 200) {
    const { data, success } = schema.safeParse(json)
    if (success) return { kind: 'ok', value: data }
  }
  const refusal = Refusal.safeParse(json).data
  return {
    kind: 'refused',
    status: reply.status,
    code: refusal?.code ?? '',
    message: refusal?.message ?? '',
    reason: refusal?.data?.reason,
    location: reply.location,
    retryAfterMs: clientWaitMs(reply.retryAfter),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An answer as metrics count it. */
export function codeOf(answer: RelayAnswer<unknown>): string {
  if (answer.kind === 'ok') return '200'
  return answer.kind === 'refused' ? String(answer.status) : 'error'
}
