import { expect, test } from 'vitest'
import { z } from 'zod'

import { listed } from './listed.ts'
import { numbered, startLoad, type NumberedRequest, type Sent } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute } from './route.ts'
import { settle } from './settle.ts'

const PER_SECOND = 500
const SECONDS = 6
/** Every 20th event is poisonous: each batch of ingest has some of them beside their neighbours. */
const EVERY = 20
/** Events of each kind that are read back whole. */
const EXAMPLES = 3
const NUL_QUERY = '?id=%00&%00=%ff'
/** Bytes that are not UTF-8 are read as latin-1, as those of a header. */
const NUL_QUERY_READ = [
  ['id', '\0'],
  ['\0', '\u00ff'],
]
const LONG_PATH = `/${'long/'.repeat(1_600)}`

interface Poison {
  status: number
  request: (number: number) => NumberedRequest
}

const JSON_TYPE = { 'content-type': 'application/json' }

function poisoned(tail: string | Buffer, target = '', headers: Record<string, string> = {}) {
  return (number: number): NumberedRequest => ({
    target,
    headers: { ...JSON_TYPE, ...headers },
    body: Buffer.concat([Buffer.from(`{"number":${number},`), Buffer.from(tail), Buffer.from('}')]),
  })
}

/** The type of each is read into a column of text, the query and the headers are stored as they come. */
const POISONS: Readonly<Record<string, Poison>> = {
  'an escaped NUL': { status: 200, request: poisoned(String.raw`"type":"a\u0000b"`) },
  'an escaped NUL in a name': { status: 200, request: poisoned(String.raw`"a\u0000b":1`) },
  'a lone surrogate': { status: 200, request: poisoned(String.raw`"type":"\ud800"`) },
  'a NUL in the query': { status: 200, request: poisoned('"type":"t"', NUL_QUERY) },
  'a NUL in the path': { status: 200, request: poisoned('"type":"t"', '/%00/%ed%a0%80') },
  'a header above 0x7f': {
    status: 200,
    request: poisoned('"type":"t"', '', { 'x-name': 'caf\u00e9 \u0080\u00ff' }),
  },
  'invalid UTF-8': {
    status: 200,
    request: poisoned(
      Buffer.from([...Buffer.from('"type":"'), 0xff, 0xc0, 0xed, 0xa0, 0x80, 0x22]),
    ),
  },
  'a long path': { status: 200, request: poisoned('"type":"t"', LONG_PATH) },
  'a deep body': { status: 200, request: poisoned(`"type":${'['.repeat(20_000)}`) },
  'a NUL byte': { status: 415, request: poisoned(Buffer.from('"type":"a\0b"')) },
}
const KINDS = Object.keys(POISONS)

const Event = z.object({
  id: z.string(),
  path: z.string(),
  query: z.array(z.tuple([z.string(), z.string()])),
  headers: z.array(z.tuple([z.string(), z.string()])),
  raw: z.string(),
  rawBase64: z.string(),
  isBinary: z.boolean(),
})
test('poisonous requests get the answer that is theirs and cost their neighbours nothing', async () => {
  await using relay = await startRelay()
  await using route = await openRoute(relay, 'poison')
  await using load = startLoad({ ...route, perSecond: PER_SECOND, requestOf })
  await load.reached(PER_SECOND * SECONDS)
  const sent = await load.stop()
  await settle('poison', relay, { route, sent })

  const wrong = sent.filter((one) => statusOf(one) !== (poisonOf(one.number)?.status ?? 200))
  expect(wrong.map((one) => [kindOf(one.number), one.answer])).toEqual([])
  const altered = sent.filter(({ number }) => {
    const [arrival] = route.destination.arrivals.get(number) ?? []
    return arrival !== undefined && !arrival.body.equals(requestOf(number).body)
  })
  expect(altered.map((one) => kindOf(one.number))).toEqual([])

  const accepted = new Set(sent.flatMap((one) => eventIdOf(one) ?? []))
  expect(
    new Set(await listed(relay, { sourceId: route.sourceId })).symmetricDifference(accepted),
  ).toEqual(new Set())
  for (const kind of KINDS) {
    for (const one of sent.filter(({ number }) => kindOf(number) === kind).slice(0, EXAMPLES)) {
      await expectReadable(relay, kind, one)
    }
  }
})

function kindOf(number: number): string | undefined {
  return number % EVERY === 0 ? KINDS[(number / EVERY) % KINDS.length] : undefined
}

function poisonOf(number: number): Poison | undefined {
  const kind = kindOf(number)
  return kind === undefined ? undefined : POISONS[kind]
}

function requestOf(number: number): NumberedRequest {
  return poisonOf(number)?.request(number) ?? numbered(number)
}

function statusOf({ answer }: Sent): number | undefined {
  if (answer.kind === 'unanswered') return undefined
  return answer.kind === 'refused' ? answer.status : 200
}

function eventIdOf({ answer }: Sent): string | undefined {
  return answer.kind === 'accepted' ? answer.eventId : undefined
}

/** The API gives back what was sent, byte for byte. */
async function expectReadable(relay: Relay, kind: string, one: Sent): Promise<void> {
  const id = eventIdOf(one)
  if (id === undefined) return
  const event = Event.parse(await relay.api('GET', `/v1/events/${id}`))
  await relay.api('GET', `/v1/events/${id}/timeline`)
  const { body, target, headers } = requestOf(one.number)
  const bytes = event.isBinary ? Buffer.from(event.rawBase64, 'base64') : Buffer.from(event.raw)
  const name = event.headers.find(([header]) => header === 'x-name')?.[1]
  expect({ ...event, isSame: bytes.equals(body), name }, kind).toMatchObject({
    isBinary: kind === 'invalid UTF-8',
    isSame: true,
    path: target.startsWith('/') ? target : '/',
    query: target === NUL_QUERY ? NUL_QUERY_READ : [],
    name: headers['x-name'],
  })
}
