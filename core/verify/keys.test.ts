import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'

import { Agent, buildConnector } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { DAY_MS } from '../clock.ts'
import { splitSecrets } from './config/secrets.ts'
import { KeysBusy, KeyStore, verifyWithKeys } from './keys.ts'
import { VerifierInput } from './presets/presets.ts'
import type { SignedRequest, Verdict } from './request/signed-request.ts'
import { selfSigned } from './self-signed.fixture.ts'
import { compileVerifier } from './verify.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })

type Reply = (
  path: string,
  body: string,
) => { status?: number; text: string; headers?: Record<string, string> } | 'hang'

let server: Server
let dispatcher: Agent
let hits: string[]
let reply: Reply
let store: KeyStore
let holder: string

beforeAll(async () => {
  const cert = selfSigned(rsa, NOW_MS - DAY_MS, NOW_MS + DAY_MS)
  const key = rsa.privateKey.export({ format: 'pem', type: 'pkcs8' })
  server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = `${request.headers.host}${request.url}`
      hits.push(path)
      const answer = reply(path, Buffer.concat(chunks).toString())
      if (answer !== 'hang')
        response.writeHead(answer.status ?? 200, answer.headers).end(answer.text)
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
})

beforeEach(() => {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port')
  const { port } = address
  const connect = buildConnector({ rejectUnauthorized: false })
  dispatcher = new Agent({
    connect: (options, callback) =>
      connect({ ...options, hostname: '127.0.0.1', port: String(port) }, callback),
  })
  store = new KeyStore(dispatcher)
  holder = 'one'
  hits = []
  reply = () => ({ status: 404, text: '' })
})

afterEach(async () => dispatcher.destroy())

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

function judge(
  input: Record<string, unknown>,
  request: Partial<SignedRequest>,
  nowMs = NOW_MS,
): Verdict | Promise<Verdict> {
  const { config, secrets } = splitSecrets(VerifierInput.parse(input))
  const compiled = compileVerifier(config, { current: secrets.current, previous: 'old-api-secret' })
  const whole = {
    method: 'POST',
    url: 'https://in.test/a',
    path: '',
    query: '',
    headers: {},
    body: Buffer.from('{}'),
    remoteIp: '',
    ...request,
  }
  return verifyWithKeys(compiled, whole, nowMs, { store, holder })
}

const VALID = { kind: 'valid', slot: null }

function rejected(reason: string): object {
  return { kind: 'rejected', reason }
}

function misconfigured(cause: string): object {
  const detail = `Cannot get https://keys.test/jwks: ${cause}`
  return { kind: 'rejected', reason: 'verifier_misconfigured', detail }
}

function token(alg: string, kid: string, claims: object): string {
  const text = `${tokenPart({ alg, kid })}.${tokenPart(claims)}`
  const key =
    alg === 'RS256' ? rsa.privateKey : { key: ec.privateKey, dsaEncoding: 'ieee-p1363' as const }
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

function tokenPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function jwk(key: KeyObject, kid: string): Record<string, unknown> {
  return { ...key.export({ format: 'jwk' }), kid, use: 'sig' }
}

describe('a JWKS', () => {
  const config = {
    type: 'jwt',
    token: { in: 'header', name: 'x-jwt' },
    algorithms: ['RS256'],
    keySource: { kind: 'jwks', url: 'https://keys.test/jwks' },
  }

  test('is fetched once for requests at the same time, then the verdict is synchronous', async () => {
    serveKeys('k1')
    const judgeOne = async (): Promise<Verdict> => judge(config, tokenRequest('k1'))
    const verdicts = await Promise.all([judgeOne(), judgeOne(), judgeOne()])
    expect(verdicts).toEqual([VALID, VALID, VALID])
    expect(hits).toEqual(['keys.test/jwks'])
    expect(judge(config, tokenRequest('k1'))).toEqual(VALID)
  })

  test('is fetched again for an unknown key id, at most every 30 s', async () => {
    serveKeys('k1')
    await judge(config, tokenRequest('k1'))
    expect(judge(config, tokenRequest('k2'), NOW_MS + 29_999)).toEqual(
      rejected('signature_mismatch'),
    )
    serveKeys('k1', 'k2')
    expect(await judge(config, tokenRequest('k2'), NOW_MS + 30_000)).toEqual(VALID)
    expect(judge(config, tokenRequest('k3'), NOW_MS + 30_001)).toEqual(
      rejected('signature_mismatch'),
    )
    expect(hits).toHaveLength(2)
  })

  test('is fetched again after 10 minutes, and outlives a failure to', async () => {
    serveKeys('k1')
    await judge(config, tokenRequest('k1'))
    expect(judge(config, tokenRequest('k1'), NOW_MS + 599_999)).toEqual(VALID)
    reply = () => ({ status: 500, text: '' })
    expect(await judge(config, tokenRequest('k1'), NOW_MS + 600_000)).toEqual(VALID)
    expect(judge(config, tokenRequest('k1'), NOW_MS + 600_001)).toEqual(VALID)
    expect(hits).toHaveLength(2)
  })

  test('that was never fetched makes the verifier misconfigured, and is not asked for again at once', async () => {
    const verdict = misconfigured('status 404')
    expect(await judge(config, tokenRequest('k1'))).toEqual(verdict)
    expect(judge(config, tokenRequest('k1'), NOW_MS + 1)).toEqual(verdict)
    expect(hits).toHaveLength(1)
  })

  test.each<[string, string, ReturnType<Reply>]>([
    [
      'a redirect',
      'status 302',
      { status: 302, text: '', headers: { location: 'https://keys.test/other' } },
    ],
    ['more than 64 KiB', 'more than 64 KiB', { text: `{"keys":[]}${' '.repeat(64 * 1024)}` }],
    ['no JSON', 'the answer holds no keys', { text: '<html>' }],
    ['another JSON', 'the answer holds no keys', { text: '[]' }],
  ])('is refused when it is %s, and the verdict says so', async (_what, cause, answer) => {
    reply = () => answer
    expect(await judge(config, tokenRequest('k1'))).toEqual(misconfigured(cause))
    expect(hits).toHaveLength(1)
  })

  test('that does not come within 2 s is given up', async () => {
    reply = () => 'hang'
    const late = sleep(3_000, 'late', { ref: false })
    const verdict = await Promise.race([judge(config, tokenRequest('k1')), late])
    expect(verdict).toEqual(misconfigured('no answer within 2 s'))
  })

  test('whose host cannot be connected to is given up within 2 s', async () => {
    store = new KeyStore(new Agent({ connect: () => undefined }))
    const late = sleep(3_000, 'late', { ref: false })
    const verdict = await Promise.race([judge(config, tokenRequest('k1')), late])
    expect(verdict).toEqual(misconfigured('no answer within 2 s'))
  })

  test('hanging fetches of one holder do not delay another’s, and its further ones are busy', async () => {
    reply = (path) =>
      path.includes('hangs')
        ? 'hang'
        : { text: JSON.stringify({ keys: [jwk(rsa.publicKey, 'k1')] }) }
    const hanging = Array.from({ length: 20 }, async (_, n) => {
      const url = `https://keys.test/hangs${n}`
      return await judge({ ...config, keySource: { kind: 'jwks', url } }, tokenRequest('k1'))
    })
    const settled = Promise.allSettled(hanging)
    await expect(judge(config, tokenRequest('k1'))).rejects.toBeInstanceOf(KeysBusy)
    holder = 'another'
    expect(await judge(config, tokenRequest('k1'))).toEqual(VALID)
    const outcomes = (await settled).map(({ status }) => status)
    expect(outcomes.filter((status) => status === 'rejected')).toHaveLength(4)
    holder = 'one'
    expect(await judge(config, tokenRequest('k1'))).toEqual(VALID)
  })

  test('is not asked for by a request that fails before the signature', () => {
    expect(judge(config, { headers: {} })).toEqual(rejected('missing_signature_header'))
    expect(judge(config, { headers: { 'x-jwt': 'a.b.c' } })).toEqual(
      rejected('malformed_signature_header'),
    )
    expect(hits).toEqual([])
  })
})

test('only https is fetched', async () => {
  expect(await store.fetch({ kind: 'cert', url: 'http://keys.test/cert' }, NOW_MS, 'one')).toEqual({
    kind: 'failed',
    why: 'Cannot get http://keys.test/cert: not https',
  })
  expect(hits).toEqual([])
})

describe('a certificate', () => {
  const config = { preset: 'paypal', params: { webhookId: 'W' } }

  test('PayPal’s is the first of its chain, kept for a day under one spelling', async () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const chain = [rsa, other].map((pair) => selfSigned(pair, NOW_MS - DAY_MS, NOW_MS + 9 * DAY_MS))
    reply = () => ({ text: chain.join('') })
    expect(await judge(config, paypal('https://api.paypal.com/c'))).toEqual(VALID)
    expect(judge(config, paypal('https://api.paypal.com/c?x=1#y'), NOW_MS + DAY_MS - 1)).toEqual(
      VALID,
    )
    expect(hits).toEqual(['api.paypal.com/c'])
    expect(await judge(config, paypal('https://api.paypal.com/c'), NOW_MS + DAY_MS)).toEqual(VALID)
    expect(hits).toHaveLength(2)
  })

  test('that has expired verifies nothing', async () => {
    reply = () => ({ text: selfSigned(rsa, NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS) })
    expect(await judge(config, paypal('https://api.paypal.com/c'))).toEqual(
      rejected('signature_mismatch'),
    )
  })

  test('SNS’s is fetched from its host', async () => {
    reply = () => ({ text: selfSigned(rsa, NOW_MS - DAY_MS, NOW_MS + DAY_MS) })
    const message = {
      Message: 'm',
      MessageId: 'i',
      Timestamp: 't',
      TopicArn: 'arn:x',
      Type: 'Notification',
    }
    const text = Object.entries(message)
      .map(([name, value]) => `${name}\n${value}\n`)
      .join('')
    const body = Buffer.from(
      JSON.stringify({
        ...message,
        SignatureVersion: '1',
        SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/c.pem',
        Signature: sign('sha1', Buffer.from(text), rsa.privateKey).toString('base64'),
      }),
    )
    expect(await judge({ preset: 'awsSns', topicArns: ['arn:x'] }, { body })).toEqual(VALID)
    expect(hits).toEqual(['sns.eu-west-1.amazonaws.com/c.pem'])
  })
})

describe("Plaid's key", () => {
  const config = {
    preset: 'plaid',
    secret: 'api-secret',
    keySource: { clientId: 'client', environment: 'sandbox' },
  }
  const bodyHash = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'
  const request = (kid: string) => ({
    headers: {
      'plaid-verification': token('ES256', kid, {
        iat: NOW_MS / 1000,
        request_body_sha256: bodyHash,
      }),
    },
  })
  const asked: string[] = []
  const serve = (secret: string, over: Record<string, unknown> = {}): void => {
    asked.length = 0
    reply = (path, body) => {
      const question: unknown = JSON.parse(body)
      asked.push(body)
      const isRight = path === 'sandbox.plaid.com/webhook_verification_key/get'
      const accepts = JSON.stringify(question).includes(`"secret":"${secret}"`)
      if (!isRight || !accepts) return { status: 400, text: '{"error_code":"INVALID_API_KEYS"}' }
      if (!body.includes('"key_id":"p1"'))
        return { status: 400, text: '{"error_code":"INVALID_WEBHOOK_VERIFICATION_KEY_ID"}' }
      return {
        text: JSON.stringify({
          key: { ...jwk(ec.publicKey, 'p1'), alg: 'ES256', expired_at: null, ...over },
        }),
      }
    }
  }

  test('is asked for by its id and kept', async () => {
    serve('api-secret')
    expect(await judge(config, request('p1'))).toEqual(VALID)
    expect(judge(config, request('p1'))).toEqual(VALID)
    expect(asked).toEqual(['{"client_id":"client","secret":"api-secret","key_id":"p1"}'])
  })

  test('is had with the previous secret during a rotation', async () => {
    serve('old-api-secret')
    expect(await judge(config, request('p1'))).toEqual(VALID)
  })

  test('that has expired or is not known verifies nothing, and an invented id does not lock out a real one', async () => {
    serve('api-secret', { expired_at: 1 })
    expect(await judge(config, request('p1'))).toEqual(rejected('signature_mismatch'))
    store = new KeyStore(dispatcher)
    serve('api-secret')
    expect(await judge(config, request('invented'))).toEqual(rejected('signature_mismatch'))
    expect(await judge(config, request('p1'))).toEqual(VALID)
  })

  test('is not asked for without end', async () => {
    serve('api-secret')
    for (let count = 0; count < 30; count += 1) await judge(config, request(`invented-${count}`))
    expect(asked).toHaveLength(20)
  })
})

function tokenRequest(kid: string): Partial<SignedRequest> {
  return { headers: { 'x-jwt': token('RS256', kid, {}) } }
}

function serveKeys(...kids: string[]): void {
  reply = () => ({ text: JSON.stringify({ keys: kids.map((kid) => jwk(rsa.publicKey, kid)) }) })
}

function paypal(url: string): Partial<SignedRequest> {
  const at = '2026-01-01T00:00:00Z'
  const text = `t|${at}|W|${crc32('{}')}`
  return {
    headers: {
      'paypal-transmission-id': 't',
      'paypal-transmission-time': at,
      'paypal-transmission-sig': sign('sha256', Buffer.from(text), rsa.privateKey).toString(
        'base64',
      ),
      'paypal-cert-url': url,
      'paypal-auth-algo': 'SHA256withRSA',
    },
  }
}
