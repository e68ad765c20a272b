import { atRate, post, sideBySide, type Attack } from './attack.ts'
import { listen } from './listeners.ts'

const KIB = 1024
/** As many at once and for as long as a destination may have. */
const GREEDY = { maxConcurrency: 1_000, timeoutMs: 60_000 }

/** Names that the name server is silent about. */
export const silentNames: Attack = async (ground) => {
  const urls = Array.from({ length: 8 }, (_, n) => `http://silent${n}.example/`)
  const ingestUrl = await ground.tenant.makeRoute(urls)
  for (let n = 0; n < 32; n++) await post(ingestUrl, `{"n":${n}}`)
  atRate(ground, { perSecond: 10 }, async () => await post(ingestUrl, '{}'))
}

/** Requests that hang at the origin of somebody else's destination. */
export const sharedOrigin: Attack = async (ground) => {
  const { tenant } = ground
  const url = `${ground.sharedOrigin}/slow`
  const greedy = await tenant.makeRoute([url], GREEDY)
  const many = await tenant.makeRoute(Array.from({ length: 9 }, () => url))
  atRate(ground, { perSecond: 30 }, async () => await post(greedy, '{}'))
  atRate(ground, { perSecond: 10 }, async () => await post(many, '{}'))
}

/** Bodies that travel in messages, each held for a minute. */
export const hangingBodies: Attack = async (ground) => {
  const url = await listen(ground.stack, 'hangs')
  const ingestUrl = await ground.tenant.makeRoute([url, url], GREEDY)
  const body = Buffer.from(JSON.stringify('x'.repeat(62 * KIB)))
  atRate(ground, { perSecond: 125, most: 32 }, async () => await post(ingestUrl, body))
}

/** Bodies that are read from the database, each held for a minute. */
export const hangingLargeBodies: Attack = async (ground) => {
  const url = await listen(ground.stack, 'hangs')
  const ingestUrl = await ground.tenant.makeRoute([url, url, url, url, url, url], GREEDY)
  const body = Buffer.from(JSON.stringify('x'.repeat(2_000 * KIB)))
  atRate(ground, { perSecond: 4 }, async () => await post(ingestUrl, body))
}

/** More small deliveries than a worker may have in hand. */
export const hangingCrowd: Attack = async (ground) => {
  const url = await listen(ground.stack, 'hangs')
  const urls = Array.from({ length: 20 }, () => url)
  const ingestUrl = await ground.tenant.makeRoute(urls, GREEDY)
  atRate(ground, { perSecond: 25 }, async () => await post(ingestUrl, '{}'))
}

/** A source whose destinations are itself. */
export const ownSource: Attack = async (ground) => {
  const { tenant } = ground
  const { id, ingestUrl } = await tenant.makeSource()
  for (let n = 0; n < 2; n++) await tenant.connect(id, await tenant.makeDestination(ingestUrl))
  atRate(ground, { perSecond: 1 }, async () => await post(ingestUrl, '{}'))
}

/** Test deliveries that nobody answers. */
export const testDeliveries: Attack = async (ground) => {
  const { tenant, stack } = ground
  const id = await tenant.makeDestination(await listen(stack, 'hangs'), { timeoutMs: 60_000 })
  const path = `/v1/destinations/${id}/test-delivery`
  atRate(ground, { perSecond: 10, most: 70 }, async () => await tenant.ask('POST', path, {}))
}

/** Each request needs a key of a host that is silent. */
export const hangingKeys: Attack = async (ground) => {
  const { tenant, stack } = ground
  const host = (await listen(stack, 'hangs')).replace('http:', 'https:')
  const urls: string[] = []
  for (let n = 0; n < 20; n++) {
    const verifier = {
      type: 'jwt',
      token: { in: 'header', name: 'x-token' },
      algorithms: ['RS256'],
      keySource: { kind: 'jwks', url: `${host}${n}` },
    }
    urls.push((await tenant.makeSource({ verifier })).ingestUrl)
  }
  let next = 0
  sideBySide(ground, 40, async () => {
    await post(urls[next++ % urls.length] ?? '', '{}', { 'x-token': TOKEN })
  })
}

const TOKEN = `${Buffer.from('{"alg":"RS256","kid":"one"}').toString('base64url')}.e30.AAAA`
