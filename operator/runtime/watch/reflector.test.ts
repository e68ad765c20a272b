import { pino } from 'pino'
import { expect, test, vi } from 'vitest'

import { startApiServer, type ApiServer, type Fault } from '../api-server.fixture.ts'
import type { Kind, KubeObject } from '../kube/object.ts'
import { Backoff } from './backoff.ts'
import { Reflector } from './reflector.ts'
import { Store } from './store.ts'

const THINGS: Kind = { group: 'test.dev', version: 'v1', kind: 'Thing', plural: 'things' }
const PATH = '/apis/test.dev/v1/things'
const log = pino({ level: 'silent' })

interface Mirror extends Disposable {
  store: Store<KubeObject>
  reflector: Reflector<KubeObject>
  /** `+name`, `~name` and `-name` for each change. */
  heard: string[]
}

function mirror(server: ApiServer, backoff?: Backoff): Mirror {
  const store = new Store<KubeObject>()
  const heard: string[] = []
  store.listen(({ before, after }) => {
    const sign = before === undefined ? '+' : after === undefined ? '-' : '~'
    heard.push(`${sign}${(after ?? before)?.metadata.name}`)
  })
  const reflector = new Reflector({
    client: server.client,
    kind: THINGS,
    namespace: undefined,
    store,
    trim: (object) => object,
    log,
    backoff: backoff ?? new Backoff({ firstMs: 20, maxMs: 200 }),
  })
  const stop = new AbortController()
  void reflector.run(stop.signal)
  return { store, reflector, heard, [Symbol.dispose]: () => stop.abort() }
}

const thing = (name: string, uid?: string): KubeObject => ({
  metadata: { name, namespace: 'a', ...(uid !== undefined && { uid }) },
})

async function until(look: () => void): Promise<void> {
  await vi.waitFor(look, { timeout: 10_000, interval: 5 })
}

/** Answers so to the first requests of a kind, and lets the others through. */
function first(count: number, method: 'WATCH' | 'LIST', misdeed: ReturnType<Fault>): Fault {
  let left = count
  return ({ query }) => {
    const isWatch = query.get('watch') === 'true'
    if (isWatch !== (method === 'WATCH') || left === 0) return undefined
    left--
    return misdeed
  }
}

test('lists, then follows what is added, changed and removed', async () => {
  await using server = await startApiServer()
  server.put(PATH, thing('old'))
  using made = mirror(server)
  await made.reflector.synced
  await until(() => expect(server.asked).toContain(`WATCH ${PATH}`))
  server.put(PATH, thing('new'))
  server.put(PATH, thing('old'))
  server.remove(PATH, 'new')
  await until(() => expect(made.heard).toEqual(['+old', '+new', '~old', '-new']))
  expect(made.store.all().map(({ metadata }) => metadata.name)).toEqual(['old'])
})

test.for<[string, NonNullable<ReturnType<Fault>>]>([
  ['500', { kind: 'status', status: 500 }],
  ['429', { kind: 'status', status: 429, retryAfter: '0' }],
  ['a reset connection', { kind: 'reset' }],
  ['an error within the stream', { kind: 'line', line: '{"type":"ERROR","object":{"code":500}}' }],
  ['a line that is no JSON', { kind: 'line', line: '{"type":' }],
  ['a polite end', { kind: 'end' }],
])('a watch that meets %s goes on where it was, without another list', async ([, misdeed]) => {
  await using server = await startApiServer()
  server.fault = first(3, 'WATCH', misdeed)
  using made = mirror(server)
  await made.reflector.synced
  server.put(PATH, thing('late'))
  await until(() => expect(made.heard).toEqual(['+late']))
  expect(server.asked.filter((line) => line.startsWith('GET'))).toHaveLength(1)
})

test.for<[string, NonNullable<ReturnType<Fault>>]>([
  ['as a status', { kind: 'status', status: 410 }],
  [
    'within the stream',
    { kind: 'line', line: '{"type":"ERROR","object":{"code":410,"metadata":{}}}' },
  ],
])('410 %s lists again, and objects that went meanwhile are gone', async ([, misdeed]) => {
  await using server = await startApiServer()
  server.put(PATH, thing('gone'))
  using made = mirror(server)
  await made.reflector.synced
  await until(() => expect(server.asked).toContain(`WATCH ${PATH}`))
  server.fault = first(1, 'WATCH', misdeed)
  server.endWatches()
  server.remove(PATH, 'gone')
  server.put(PATH, thing('new'))
  await until(() => expect(made.heard).toContain('+new'))
  expect(made.store.all().map(({ metadata }) => metadata.name)).toEqual(['new'])
})

test.for<[string, NonNullable<ReturnType<Fault>>]>([
  ['410 at every watch', { kind: 'status', status: 410 }],
  ['errors within every stream', { kind: 'line', line: '{"type":"ERROR","object":{"code":500}}' }],
  ['an end after each event', { kind: 'end' }],
])('no hot loop after %s', async ([, misdeed]) => {
  await using server = await startApiServer()
  server.fault = ({ query }) => (query.get('watch') === 'true' ? misdeed : undefined)
  using made = mirror(server, new Backoff({ firstMs: 100, maxMs: 10_000 }))
  await made.reflector.synced
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(server.asked.length).toBeLessThan(14)
})

test('Retry-After is waited for', async () => {
  await using server = await startApiServer()
  server.fault = first(1, 'LIST', { kind: 'status', status: 429, retryAfter: '1' })
  const began = performance.now()
  using made = mirror(server)
  await made.reflector.synced
  expect(performance.now() - began).toBeGreaterThan(950)
})

test('an object of the same name that was made anew is another', async () => {
  await using server = await startApiServer()
  server.put(PATH, thing('twin', 'one'))
  using made = mirror(server)
  await made.reflector.synced
  server.fault = () => ({ kind: 'status', status: 500 })
  server.endWatches()
  server.put(PATH, thing('twin', 'two'))
  server.fault = first(1, 'WATCH', { kind: 'status', status: 410 })
  await until(() => expect(made.heard.slice(0, 3)).toEqual(['+twin', '-twin', '+twin']))
})

test('a listener that throws loses its change, not the watch', async () => {
  await using server = await startApiServer()
  using made = mirror(server)
  made.store.listen(({ after }) => {
    if (after?.metadata.name === 'bad') throw new Error('thrown by a test')
  })
  await made.reflector.synced
  server.put(PATH, thing('bad'))
  server.put(PATH, thing('good'))
  await until(() => expect(made.heard).toEqual(['+bad', '+good']))
})

test('requests share connections', async () => {
  await using server = await startApiServer()
  for (let count = 0; count < 30; count++) await server.client.list(THINGS, {})
  expect(server.connections()).toBeLessThan(5)
})

test('a list by what objects have in common follows changes', () => {
  const store = new Store<KubeObject>()
  store.index('team', ({ metadata }) => [metadata.labels?.['team'] ?? ''])
  const of = (name: string, team: string, resourceVersion: string): KubeObject => ({
    metadata: { name, namespace: 'a', resourceVersion, labels: { team } },
  })
  store.put(of('x', 'red', '1'))
  store.put(of('y', 'red', '2'))
  store.put(of('x', 'blue', '3'))
  store.remove('a/y')
  expect(store.by('team', 'red')).toEqual([])
  expect(store.by('team', 'blue').map(({ metadata }) => metadata.name)).toEqual(['x'])
})
