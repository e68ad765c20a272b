import type { Schemas } from '../../api/client.ts'
import { quoted } from '../../parts/words/shell.ts'

type Sent = Pick<
  Schemas['Event'],
  'method' | 'headers' | 'query' | 'raw' | 'rawBase64' | 'isBinary'
>

/** Headers that curl or the way makes by itself. */
const OWN = new Set([
  'host',
  'content-length',
  'connection',
  'accept-encoding',
  'transfer-encoding',
])

/** A name of a header; curl reads a file for a header that begins with `@`. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/** Control characters but tab and line feed: a terminal takes them for keys, even within quotes. */
const UNPASTABLE = /[^\P{Cc}\t\n]/u

/**
 * The request once more, for a shell. Its sender wrote the values, so that none of them is an option of curl or a file to
 * read: `--data-raw` takes a leading `@` as it stands. Bytes that are no text travel as base64, and so do characters that a
 * terminal acts on when they are pasted.
 */
export function curlOf(event: Sent, ingestUrl: string): string {
  const query = event.query.map(
    ([name = '', value = '']) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  )
  const address = query.length === 0 ? ingestUrl : `${ingestUrl}?${query.join('&')}`
  return [
    'curl',
    event.method === 'HEAD' ? '--head' : `-X ${event.method}`,
    quoted(address),
    ...headersOf(event).map((header) => `-H ${quoted(header)}`),
    ...bodyOf(event),
  ].join(' \\\n  ')
}

/** curl leaves a header without a value out unless a semicolon ends its name, and adds a type of its own to a body. */
function headersOf({ headers, raw }: Sent): string[] {
  const sent = headers.filter(
    ([name = '', value = '']) =>
      TOKEN.test(name) && !OWN.has(name.toLowerCase()) && !UNPASTABLE.test(value),
  )
  const isTyped = sent.some(([name = '']) => name.toLowerCase() === 'content-type')
  return [
    ...sent.map(([name = '', value = '']) => (value === '' ? `${name};` : `${name}: ${value}`)),
    ...(isTyped || raw === '' ? [] : ['content-type:']),
  ]
}

function bodyOf({ raw, rawBase64, isBinary }: Sent): string[] {
  if (raw === '' && !isBinary) return []
  return isBinary || UNPASTABLE.test(raw)
    ? [`--data-binary @<(echo ${quoted(rawBase64)} | base64 -d)`]
    : [`--data-raw ${quoted(raw)}`]
}
