import { createHmac } from 'node:crypto'

import { expect, test } from 'vitest'

import { PRESETS, VerifierInput } from '../presets/presets.ts'
import type { Verdict } from '../request/signed-request.ts'
import { compileVerifier, verify } from '../verify.ts'

const NOW = 1_764_039_600
const KEY = Buffer.from('0123456789abcdef0123456789abcdef')
const BASE64 = KEY.toString('base64')
const FAMILY = [...PRESETS].filter(([, { config }]) => config.type === 'standard_webhooks')

function verdictOf(preset: string, current: string, key: Buffer | string): Verdict {
  const config = VerifierInput.parse({ preset })
  const mac = createHmac('sha256', key).update(`msg_1.${NOW}.{}`).digest('base64')
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(NOW),
    'webhook-signature': `v1,${mac}`,
  }
  const request = { method: 'POST', url: 'https://in.test/a', path: '/a', query: '', headers }
  const whole = { ...request, body: Buffer.from('{}'), remoteIp: '' }
  return verify(compileVerifier(config, { current }), whole, NOW * 1000)
}

test.each(FAMILY.map(([name]) => name))(
  '%s: a base64 secret verifies with whsec_, without it, with v1, before it, and without padding',
  (preset) => {
    const forms = [BASE64, `whsec_${BASE64}`, `v1,whsec_${BASE64}`, BASE64.replace('=', '')]
    for (const secret of forms) {
      expect(verdictOf(preset, secret, KEY), secret).toEqual({ kind: 'valid', slot: 'current' })
    }
    expect(verdictOf(preset, BASE64, 'another').kind).toBe('rejected')
  },
)

test.each(['openai', 'polar', 'bigCommerce'])(
  '%s: a secret without whsec_ verifies as the text that it is, too',
  (preset) => {
    for (const secret of [BASE64, 'polar_whs_65cRryDyN7JpOFeqHSCWTITSGTAPYQDP']) {
      expect(verdictOf(preset, secret, secret).kind).toBe('valid')
    }
  },
)

test('elsewhere the text of a secret is no key', () => {
  expect(verdictOf('svix', BASE64, BASE64).kind).toBe('rejected')
})
