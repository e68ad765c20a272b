import type { Schemas } from '../../api/client.ts'
import { quoted } from '../../parts/words/shell.ts'

/** Headers that curl or the way makes by itself. */
const OWN = new Set([
  'host',
  'content-length',
  'connection',
  'accept-encoding',
  'transfer-encoding',
])

/** The request once more, for a shell. Bytes that are no text travel as base64. */
export function curlOf(event: Schemas['Event'], ingestUrl: string): string {
  const query = event.query.map(
    ([name = '', value = '']) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  )
  const address = query.length === 0 ? ingestUrl : `${ingestUrl}?${query.join('&')}`
  const headers = event.headers
    .filter(([name = '']) => !OWN.has(name.toLowerCase()))
    .map(([name = '', value = '']) => `-H ${quoted(`${name}: ${value}`)}`)
  const body = event.isBinary
    ? `--data-binary @<(echo ${quoted(event.rawBase64)} | base64 -d)`
    : `--data-binary ${quoted(event.raw)}`
  return ['curl', `-X ${event.method}`, quoted(address), ...headers, body].join(' \\\n  ')
}
