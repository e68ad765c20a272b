import { beforeAll, describe, expect, inject, test } from 'vitest'

import { talk, type RawAnswer } from '../kit/raw-socket.ts'
import type { Resource } from '../kit/relay.ts'
import { openTenant, type Tenant } from './tenant.ts'

const { apiUrl, ingestUrl } = inject('installation')

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant('enterprise')
})

/** A server, with a request that it accepts. */
interface Server {
  url: string
  /** In origin form. */
  target: string
  /** A complete header section without its Host, as lines. */
  headers: string[]
  body: string
  takes: number
  /** How many of the requests of this case had an effect. */
  taken(): Promise<Resource[]>
  /** The refusal of a status, with its code where it has one. */
  refusal(status: number, code?: string): object
}

async function openIngest(): Promise<Server> {
  const source = await tenant.make('sources', { allowedMethods: ['POST', 'PUT'] })
  return {
    url: ingestUrl,
    target: `/${source.maskId}`,
    headers: ['content-type: application/json'],
    body: '{"a":1}',
    takes: 200,
    taken: async () => (await tenant.get(`/v1/events?sourceId=${source.id}&limit=100`)).data,
    refusal: (_status, code) => ({
      ok: false,
      message: expect.stringMatching(/^[A-Z]/),
      ...(code !== undefined && { code }),
      ...(code === 'BAD_REQUEST' && { data: { fields: [] } }),
    }),
  }
}

let count = 0

async function openApi(): Promise<Server> {
  const project = await tenant.make('projects')
  const body = (): string => JSON.stringify({ name: `raw ${String(++count).padStart(4, '0')}` })
  return {
    url: apiUrl,
    target: '/v1/sources',
    headers: [
      'content-type: application/json',
      `authorization: Bearer ${tenant.key}`,
      `x-project-id: ${project.id}`,
    ],
    get body() {
      return body()
    },
    takes: 201,
    taken: async () => {
      const headers = { 'x-project-id': project.id }
      return (await tenant.api('GET', '/v1/sources?limit=100', undefined, { headers })).body.data
    },
    refusal: (status, code) => ({
      status,
      message: expect.stringMatching(/\w/),
      ...(code !== undefined && { code }),
      ...(code === 'BAD_REQUEST' && {
        data: { fields: [{ path: 'request', message: expect.any(String) }] },
      }),
    }),
  }
}

interface RequestParts {
  method?: string
  target?: string
  version?: string
  /** Lines; a Host stands before them unless told otherwise. */
  headers?: string[]
  host?: string[]
  body?: string
  /** Says how long the body is; the default. */
  hasLength?: boolean
}

/** A request that the server takes, but for what is said. */
function write(server: Server, parts: RequestParts = {}): string {
  const { method = 'POST', target = server.target, version = 'HTTP/1.1' } = parts
  const { headers = [], host = ['host: a.example'], body = server.body, hasLength = true } = parts
  const length = hasLength ? [`content-length: ${Buffer.byteLength(body)}`] : []
  const lines = [
    `${method} ${target} ${version}`,
    ...host,
    ...server.headers,
    ...headers,
    ...length,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Without its body. */
function headOf(request: string): string {
  return request.slice(0, request.indexOf('\r\n\r\n') + 4)
}

type Refused = [status: number, code: string | undefined, says: RegExp]

interface Case {
  name: string
  parts: (server: Server) => (string | Buffer)[]
  half?: boolean
  withinMs?: number
  /** In order; `taken` is the answer of the request that is taken. */
  answers: ('taken' | Refused)[]
  isClosed: boolean
  /** Requests that had an effect; as many as are answered as taken. */
  continued?: number
}

const refused = (status: number, code: string | undefined, says: RegExp): Refused => [
  status,
  code,
  says,
]
const broken = (says: RegExp): Refused => refused(400, 'BAD_REQUEST', says)
const close = 'connection: close'
const chunked = (text: string, trailers = ''): string =>
  `${text.length.toString(16)}\r\n${text}\r\n0\r\n${trailers}\r\n`
const inChunks = (server: Server, chunks: string, headers: string[] = []): string => {
  const framing = ['transfer-encoding: chunked', ...headers]
  return headOf(write(server, { headers: framing, hasLength: false })) + chunks
}
const invalid = /not valid HTTP/

const CASES: Case[] = [
  {
    name: 'a client that keeps the connection open is answered on it',
    parts: (server) => [write(server)],
    answers: ['taken'],
    isClosed: false,
  },
  {
    name: 'a client that closes its sending side behind the request is answered',
    parts: (server) => [write(server)],
    half: true,
    answers: ['taken'],
    isClosed: true,
  },
  {
    name: 'a client that closes its sending side and says connection: close is answered',
    parts: (server) => [write(server, { headers: [close] })],
    half: true,
    answers: ['taken'],
    isClosed: true,
  },
  {
    name: 'a client of HTTP/1.0 that closes its sending side is answered',
    parts: (server) => [write(server, { version: 'HTTP/1.0' })],
    half: true,
    answers: ['taken'],
    isClosed: true,
  },
  {
    name: 'a client that closes its sending side behind three requests gets three answers',
    parts: (server) => [write(server) + write(server) + write(server)],
    half: true,
    answers: ['taken', 'taken', 'taken'],
    isClosed: true,
  },
  {
    name: 'a client that closes its sending side within the body is told so',
    parts: (server) => [write(server).slice(0, -3)],
    half: true,
    answers: [broken(/ended before it was complete/)],
    isClosed: true,
  },
  {
    name: 'a client that closes its sending side within the headers is told so',
    parts: (server) => [write(server).slice(0, 30)],
    half: true,
    answers: [broken(/ended before it was complete/)],
    isClosed: true,
  },
  {
    name: 'a client that closes its sending side without a word hears nothing',
    parts: () => [],
    half: true,
    answers: [],
    isClosed: true,
  },
  {
    name: 'requests that follow one another without a pause are answered in order',
    parts: (server) => [write(server) + write(server, { target: '/nowhere' }) + write(server)],
    answers: ['taken', refused(404, 'NOT_FOUND', /./), 'taken'],
    isClosed: false,
  },
  {
    name: 'a request before one that is broken has its answer first',
    parts: (server) => [`${write(server)}NONSENSE\r\n\r\n`],
    answers: ['taken', broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a request and its body may come in pieces',
    parts: (server) => write(server).match(/[^]{1,24}/g) ?? [],
    answers: ['taken'],
    isClosed: false,
  },
  {
    name: 'headers of more than 16 KiB are refused as too large',
    parts: (server) => [write(server, { headers: [`x-long: ${'x'.repeat(20_000)}`] })],
    answers: [refused(431, undefined, /headers are larger than 16 KiB/)],
    isClosed: true,
  },
  {
    name: 'a request line of more than 16 KiB is refused as too large',
    parts: (server) => [write(server, { target: `${server.target}?${'q'.repeat(20_000)}` })],
    answers: [refused(431, undefined, /request line and headers are larger than 16 KiB/)],
    isClosed: true,
  },
  {
    name: 'trailers of more than 16 KiB are refused as too large',
    parts: (server) => [inChunks(server, chunked(server.body, `x-t: ${'x'.repeat(20_000)}\r\n`))],
    answers: [refused(431, undefined, /larger than 16 KiB/)],
    isClosed: true,
  },
  {
    name: 'chunk extensions of more than 16 KiB are refused as too large',
    parts: (server) => [inChunks(server, `1;${'x'.repeat(20_000)}\r\n`)],
    answers: [refused(413, 'PAYLOAD_TOO_LARGE', /chunk/)],
    isClosed: true,
  },
  {
    name: 'two Host headers are refused',
    parts: (server) => [write(server, { host: ['host: a', 'Host: b'] })],
    answers: [broken(/more than one Host/)],
    isClosed: false,
  },
  {
    name: 'HTTP/1.1 without a Host header is refused',
    parts: (server) => [write(server, { host: [] })],
    answers: [broken(/no Host/)],
    isClosed: false,
  },
  {
    name: 'an empty Host header is one',
    parts: (server) => [write(server, { host: ['host:'] })],
    answers: ['taken'],
    isClosed: false,
  },
  {
    name: 'HTTP/1.0 needs no Host header',
    parts: (server) => [write(server, { host: [], version: 'HTTP/1.0' })],
    answers: ['taken'],
    isClosed: true,
  },
  {
    name: 'a client that waits to be asked for its body is asked',
    parts: (server) => {
      const request = write(server, { headers: ['expect: 100-continue'] })
      return [headOf(request), request.slice(headOf(request).length)]
    },
    answers: ['taken'],
    continued: 1,
    isClosed: false,
  },
  {
    name: 'a client whose request is refused is not asked for its body',
    parts: (server) => [
      headOf(write(server, { headers: ['expect: 100-continue'], target: '/nowhere' })),
    ],
    answers: [refused(404, 'NOT_FOUND', /./)],
    continued: 0,
    isClosed: true,
  },
  {
    name: 'another expectation is not met',
    parts: (server) => [write(server, { headers: ['expect: 200-ok'] })],
    answers: [refused(417, undefined, /100-continue/)],
    isClosed: true,
  },
  {
    name: 'a wish to speak another protocol is passed over',
    parts: (server) => [
      write(server, {
        headers: [
          'connection: upgrade, http2-settings',
          'upgrade: h2c',
          'http2-settings: AAMAAABkAAQCAAAAAAIAAAAA',
        ],
      }),
    ],
    answers: ['taken'],
    isClosed: false,
  },
  {
    name: 'CONNECT finds nothing',
    parts: () => ['CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\n\r\n'],
    answers: [refused(404, 'NOT_FOUND', /./)],
    isClosed: true,
  },
  {
    name: 'OPTIONS * finds nothing',
    parts: () => ['OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n'],
    answers: [refused(404, 'NOT_FOUND', /./)],
    isClosed: false,
  },
  ...['http://a.example', 'HTTP://A.EXAMPLE:80', 'https://user@other.example:8443'].map(
    (origin): Case => ({
      name: `the absolute form ${origin}/… is taken`,
      parts: (server) => [write(server, { target: `${origin}${server.target}` })],
      answers: ['taken'],
      isClosed: false,
    }),
  ),
  {
    name: 'an absolute form without a path finds nothing',
    parts: (server) => [write(server, { target: 'http://a.example?x=1' })],
    answers: [refused(404, 'NOT_FOUND', /./)],
    isClosed: false,
  },
  {
    name: 'an absolute form of another scheme finds nothing',
    parts: (server) => [write(server, { target: `ftp://a.example${server.target}` })],
    answers: [refused(404, 'NOT_FOUND', /./)],
    isClosed: false,
  },
  {
    name: 'a body in chunks with trailers is taken',
    parts: (server) => [
      inChunks(server, chunked(server.body, 'x-checksum: 1\r\n'), ['trailer: x-checksum']),
    ],
    answers: ['taken'],
    isClosed: false,
  },
  {
    name: 'a chunk whose length is none is refused',
    parts: (server) => [inChunks(server, 'zz\r\n{}\r\n0\r\n\r\n')],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a chunk that is longer than it says is refused',
    parts: (server) => [inChunks(server, '2\r\n{}{}\r\n0\r\n\r\n')],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a length beside chunks is refused',
    parts: (server) => [write(server, { headers: ['transfer-encoding: chunked'] })],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'two different lengths are refused',
    parts: (server) => [write(server, { headers: ['content-length: 3'] })],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a transfer coding beside chunked is refused',
    parts: (server) => [
      headOf(write(server, { headers: ['transfer-encoding: chunked, gzip'], hasLength: false })),
    ],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'the preface of HTTP/2 is refused',
    parts: () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a TLS handshake is refused',
    parts: () => [Buffer.from('16030100a5010000a1030300', 'hex')],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'lines that end without a carriage return are refused',
    parts: (server) => [write(server).replaceAll('\r\n', '\n')],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a header that goes on in the next line is refused',
    parts: (server) => [write(server, { headers: ['x-folded: a', ' b'] })],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a method that HTTP does not know is refused',
    parts: (server) => [write(server, { method: 'FROB' })],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'another version of HTTP is refused',
    parts: (server) => [write(server, { version: 'HTTP/3.0' })],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a control character in a header is refused',
    parts: (server) => [write(server, { headers: ['x-control: a\0b'] })],
    answers: [broken(invalid)],
    isClosed: true,
  },
  {
    name: 'a connection is good for another request after each refusal that came behind the whole request',
    parts: (server) => [
      write(server, { target: '/nowhere' }),
      write(server, { host: [] }),
      write(server),
    ],
    answers: [refused(404, 'NOT_FOUND', /./), broken(/no Host/), 'taken'],
    isClosed: false,
  },
  {
    name: 'what follows a refusal that closes the connection is not taken',
    parts: (server) => [write(server, { headers: ['expect: 200-ok'] }) + write(server)],
    answers: [refused(417, undefined, /100-continue/)],
    isClosed: true,
  },
  {
    name: 'a body that is sent on although its request was refused does not lose the answer',
    parts: (server) => [
      `${headOf(write(server, { target: '/nowhere', hasLength: false, headers: ['content-length: 3000000'] }))}${'x'.repeat(1_000_000)}`,
      'x'.repeat(1_000_000),
    ],
    answers: [refused(404, 'NOT_FOUND', /./)],
    isClosed: true,
  },
]

describe.each([
  ['ingest', openIngest],
  ['the API', openApi],
])('%s', (_name, open) => {
  test.concurrent.each(CASES)(
    '$name',
    async ({ parts, half, withinMs, answers, isClosed, continued }) => {
      const server = await open()
      const heard = await talk(server.url, {
        parts: parts(server),
        ...(half !== undefined && { half }),
        ...(withinMs !== undefined && { withinMs }),
      })
      expect(heard.rest).toBe('')
      expect(heard.answers.map(({ status }) => status)).toEqual(
        answers.map((one) => (one === 'taken' ? server.takes : one[0])),
      )
      for (const [n, expected] of answers.entries()) check(server, heard.answers[n], expected)
      expect(heard.isClosed).toBe(isClosed)
      expect(heard.continued).toBe(continued ?? 0)
      expect(await server.taken()).toHaveLength(answers.filter((one) => one === 'taken').length)
    },
  )

  test('a header is never dropped, however many there are', async () => {
    const server = await open()
    const many = Array.from({ length: 2_500 }, () => 'a:1')
    const heard = await talk(server.url, { parts: [write(server, { headers: many })] })
    expect(heard.answers).toMatchObject([{ status: server.takes }])
  })
})

const ANYTHING: unknown = expect.any(Object)

function check(server: Server, answer: RawAnswer | undefined, expected: 'taken' | Refused): void {
  expect(answer?.headers['content-type']).toBe('application/json; charset=utf-8')
  const body = JSON.parse(answer?.text ?? '')
  const [shape, says] =
    expected === 'taken'
      ? [ANYTHING, /(?:)/]
      : [server.refusal(expected[0], expected[1]), expected[2]]
  expect(body).toEqual(shape)
  expect(String(body.message)).toMatch(says)
}

test('ingest keeps the path and query of an absolute form, and 2,500 headers', async () => {
  const server = await openIngest()
  const many = Array.from({ length: 2_500 }, () => 'a:1')
  const target = `http://other.example${server.target}/sub//path?b=%20&a`
  await talk(server.url, { parts: [write(server, { target, headers: many })] })
  const [event] = await server.taken()
  const whole = await tenant.get(`/v1/events/${event?.id}`)
  expect(whole).toMatchObject({
    path: '/sub//path',
    query: [
      ['b', ' '],
      ['a', ''],
    ],
  })
  const kept = whole.headers.filter(([name]: [string]) => name === 'a')
  expect(kept).toHaveLength(many.length)
})
