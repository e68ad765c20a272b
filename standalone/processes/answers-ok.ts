import { Agent, get } from 'node:http'

const TIMEOUT_MS = 1_000

/** Bypasses HTTP_PROXY, which the global agent uses under NODE_USE_ENV_PROXY: our servers are on this machine. */
const direct = new Agent()

/** Whether a GET of the address is answered within a second, with a 2xx and these headers. Never through a proxy. */
export async function answersOk(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const answered = Promise.withResolvers<boolean>()
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const request = get(url, { agent: direct, signal }, (response) => {
    response.resume()
    const status = response.statusCode ?? 0
    const hasHeaders = Object.entries(headers).every(
      ([name, text]) => response.headers[name] === text,
    )
    answered.resolve(status >= 200 && status < 300 && hasHeaders)
  })
  request.on('error', () => answered.resolve(false))
  return await answered.promise
}
