import { z } from 'zod'

import type { Reach } from '../relay/proxy.ts'
import { callRelay } from '../relay/relay-call.ts'
import { whyUnreachable } from '../telling/explain.ts'

/** A refusal of the relay, in its words. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const Refusal = z.object({
  code: z.string(),
  message: z.string(),
  data: z.unknown().optional(),
})

/** Calls an operation under `/v1/`. Throws `Refused`, or why the relay cannot be reached. */
export type Api = (method: string, path: string, body?: object) => Promise<unknown>

export function openApi({ apiUrl, apiKey }: { apiUrl: string; apiKey: string }, reach: Reach): Api {
  return async (method, path, body) => {
    const url = new URL(`/v1/${path}`, apiUrl)
    const reply = await callRelay(url, reach, { method, token: apiKey, body }).catch(
      (error: unknown) => {
        const cause = error instanceof Error ? error : new Error(String(error))
        throw new Error(`Cannot reach the relay: ${whyUnreachable(cause, url)}`, { cause })
      },
    )
    const json = jsonOf(reply.text)
    if (reply.status >= 200 && reply.status < 300 && json !== undefined) return json
    const refusal = Refusal.safeParse(json).data
    if (refusal === undefined) {
      throw new Refused(
        reply.status,
        '',
        `${url.origin} is no API of a Postern relay (it answers ${reply.status}): check POSTERN_URL`,
      )
    }
    throw new Refused(reply.status, refusal.code, wordsOf(reply.status, refusal))
  }
}

function wordsOf(status: number, { code, message, data }: z.infer<typeof Refusal>): string {
  if (status === 401) return 'The relay does not know the API key: check POSTERN_API_KEY'
  const details = data === undefined || data === null ? '' : ` ${JSON.stringify(data)}`
  return `The relay refuses: ${message} (${status} ${code})${details}`
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
