import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { listPresets, VerifierInput } from '../../core/verify/presets/presets.ts'
import { compileVerifier, verify } from '../../core/verify/verify.ts'
import { withTable } from './table.ts'

const PAGE = readFileSync(new URL('../providers.md', import.meta.url), 'utf8')

test('docs/providers.md has the presets of the code (npm run docs:providers)', () => {
  const cells = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
  expect(cells(withTable(PAGE))).toBe(cells(PAGE))
})

const SHORT = [...PAGE.matchAll(/\{"preset":"\w+"(?:[^{}]|\{[^{}]*\})*\}/g)].map(([text]) => text)

test.each([...new Set(SHORT)])('the verifier %s of docs/providers.md is one', (text) => {
  const given = JSON.parse(text)
  // Meta's token is a member of the source, which the page says; keys are shown without their end.
  const preset = listPresets().find((entry) => entry.preset === given.preset)
  expect(preset).toBeDefined()
  expect(VerifierInput.safeParse(given).error).toBeUndefined()
})

test('the verifier of a scheme of your own verifies what it says', () => {
  const [, block = ''] = /```json verifier\n(.*?)```/s.exec(PAGE) ?? []
  const { secret, ...config } = JSON.parse(block)
  const stored = VerifierInput.parse(config)
  const verifier = compileVerifier(stored, {
    current: secret,
    previous: undefined,
    members: undefined,
  })
  const body = Buffer.from('{"type":"order.paid"}')
  const signature = createHmac('sha256', secret).update(`1760000000.`).update(body).digest('hex')
  const request = (header: string) => ({
    method: 'POST',
    url: 'https://x.test/m',
    path: '/',
    query: '',
    headers: { 'x-acme-signature': header },
    body,
    remoteIp: '192.0.2.1',
  })
  const nowMs = 1_760_000_100_000
  expect(verify(verifier, request(`t=1760000000,v1=${signature}`), nowMs).kind).toBe('valid')
  expect(verify(verifier, request(`t=1760000001,v1=${signature}`), nowMs).kind).toBe('rejected')
})
