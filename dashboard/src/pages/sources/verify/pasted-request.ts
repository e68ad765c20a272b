/** A request as people paste it: the bytes of HTTP, or a curl command. */
export interface PastedRequest {
  method: string
  url: string | undefined
  headers: Record<string, string | string[]>
  body: string
}

export function pastedRequest(text: string): PastedRequest {
  return /^\s*curl\s/.test(text) ? ofCurl(wordsOf(text.trim()).slice(1)) : ofHttp(text)
}

function ofHttp(text: string): PastedRequest {
  const normal = text.replaceAll('\r\n', '\n').trimStart()
  const end = normal.indexOf('\n\n')
  const head = (end === -1 ? normal : normal.slice(0, end)).split('\n')
  const [first = ''] = head
  const start = /^([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?$/.exec(first)
  const request = empty()
  for (const line of start === null ? head : head.slice(1)) addHeader(request, line)
  request.method = start?.[1] ?? 'POST'
  request.url = start?.[2]?.startsWith('http') === true ? start[2] : undefined
  request.body = end === -1 ? '' : normal.slice(end + 2)
  return request
}

const DATA = new Set(['-d', '--data', '--data-raw', '--data-binary', '--data-ascii'])
/** Options of curl that have a value which says nothing here. */
const WITH_VALUE = new Set([
  '-o',
  '--output',
  '-A',
  '--user-agent',
  '-u',
  '--user',
  '-m',
  '--max-time',
])

function ofCurl(words: readonly string[]): PastedRequest {
  const request = empty()
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '-H' || word === '--header') addHeader(request, rest.shift() ?? '')
    else if (word === '-X' || word === '--request') request.method = rest.shift() ?? 'POST'
    else if (word === '--url') request.url = rest.shift()
    else if (DATA.has(word)) request.body += rest.shift() ?? ''
    else if (WITH_VALUE.has(word)) rest.shift()
    else if (!word.startsWith('-')) request.url = word
  }
  return request
}

const empty = (): PastedRequest => ({ method: 'POST', url: undefined, headers: {}, body: '' })

function addHeader({ headers }: PastedRequest, line: string): void {
  const at = line.indexOf(':')
  if (at <= 0) return
  const name = line.slice(0, at).trim().toLowerCase()
  const value = line.slice(at + 1).trim()
  const before = headers[name]
  headers[name] = before === undefined ? value : [before, value].flat()
}

/** The words of a shell command: quotes are taken off, a backslash before the end of a line joins lines. */
function wordsOf(command: string): string[] {
  const found = command.matchAll(/(?:[^\s'"\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+/g)
  return [...found]
    .map(([word]) => word)
    .filter((word) => word !== '\\\n')
    .map(unquoted)
}

function unquoted(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g,
    (_all, single?: string, double?: string, escaped?: string) =>
      single ??
      double?.replaceAll(/\\(["\\$`])/g, '$1') ??
      (escaped === '\n' ? '' : (escaped ?? '')),
  )
}
