import { openPostern, PosternError, type Postern } from '../../clients/typescript/index.ts'
import type { Reach } from '../relay/proxy.ts'
import { callRelay, type RelayReply } from '../relay/relay-call.ts'
import { whyUnreachable } from '../requests/explain.ts'

export type Api = Postern

/** The operations of a relay. A call throws a `PosternError` for a refusal, or an error that says why nobody answered. */
export function openApi({ apiUrl, apiKey }: { apiUrl: string; apiKey: string }, reach: Reach): Api {
  return openPostern({
    url: new URL(apiUrl).origin,
    apiKey,
    retries: 0,
    fetch: async (address, call) => {
      const url = new URL(address)
      const reply = await callRelay(url, reach, call).catch((error: unknown) => {
        const cause = error instanceof Error ? error : new Error(String(error))
        throw new Error(`Cannot reach the relay: ${whyUnreachable(cause, url)}`, { cause })
      })
      if (!isOfRelay(reply)) {
        const what = `${url.origin} is no API of a Postern relay (it answers ${reply.status})`
        throw new Error(`${what}: check POSTERN_URL`)
      }
      return new Response(reply.text, { status: reply.status })
    },
  })
}

/** For whoever ran the command. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof PosternError))
    return error instanceof Error ? error.message : String(error)
  const { status, code, message, data } = error
  if (status === 401) return 'The relay does not know the API key: check POSTERN_API_KEY'
  const details = Object.keys(data).length === 0 ? '' : ` ${JSON.stringify(data)}`
  return `The relay refuses: ${message} (${status} ${code})${details}`
}

/** Its answers to what is asked here are JSON, and its refusals have a code. */
function isOfRelay({ status, text }: RelayReply): boolean {
  try {
    const answer: unknown = JSON.parse(text)
    return status < 300 || (typeof answer === 'object' && answer !== null && 'code' in answer)
  } catch {
    return false
  }
}
