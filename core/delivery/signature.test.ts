import { createHmac, randomBytes } from 'node:crypto'

import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'

import { compileSigner, newSigningSecret, sign } from './signature.ts'

const ID = 'dlv_01h455vb4pex5vsknk084sn02q'

test('the official package accepts what sign() makes, during a rotation under either secret', () => {
  const secrets = [newSigningSecret(), newSigningSecret()]
  const body = Buffer.from('{"test": 2432232314, "emoji": "🙂"}')
  const now = Math.floor(Date.now() / 1_000)
  const headers = {
    'webhook-id': ID,
    'webhook-timestamp': String(now),
    'webhook-signature': sign(compileSigner(secrets), ID, now, body),
  }
  for (const secret of secrets) {
    expect(new Webhook(secret).verify(body.toString(), headers)).toMatchObject({
      test: 2_432_232_314,
    })
  }
  expect(() => new Webhook(newSigningSecret()).verify(body.toString(), headers)).toThrow(
    'No matching signature found',
  )
})

test('sign() gives the signature of the published vector', () => {
  const signer = compileSigner(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])
  const body = Buffer.from('{"test": 2432232314}')
  expect(sign(signer, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, body)).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test('sign() agrees with the official package on every text', () => {
  const secret = newSigningSecret()
  const signer = compileSigner([secret])
  const official = new Webhook(secret)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(2_000_000_000), (text, seconds) => {
      const expected = official.sign(ID, new Date(seconds * 1_000), text)
      expect(sign(signer, ID, seconds, Buffer.from(text))).toBe(expected)
    }),
    { numRuns: 200 },
  )
})

test('sign() covers the exact bytes of a body that is not text', () => {
  // The official package reads every body as text, so the reference here is the standard's own formula.
  const key = randomBytes(32)
  const signer = compileSigner([`whsec_${key.toString('base64')}`])
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const signed = Buffer.concat([Buffer.from(`${ID}.7.`), bytes])
      const mac = createHmac('sha256', key).update(signed).digest('base64')
      expect(sign(signer, ID, 7, Buffer.from(bytes))).toBe(`v1,${mac}`)
    }),
    { numRuns: 200 },
  )
})

test('newSigningSecret() is whsec_ and base64 of 32 bytes, a new one each time', () => {
  const secret = newSigningSecret()
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(newSigningSecret()).not.toBe(secret)
})

test.for(['', 'whsec_', 'whsec_not base64', 'whsec_-_-_'])(
  'compileSigner() refuses %j without showing it',
  (secret) => {
    expect(() => compileSigner([newSigningSecret(), secret])).toThrow(
      'Cannot read a signing secret: it must be whsec_ and base64',
    )
  },
)
