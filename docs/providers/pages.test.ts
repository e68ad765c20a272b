import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { splitSecrets } from '../../core/verify/config/secrets.ts'
import { signedOf } from '../../core/verify/events.fixture.ts'
import { faultsOf } from '../../core/verify/faults.ts'
import { VerifierInput } from '../../core/verify/presets/presets.ts'
import { REJECTION_REASONS } from '../../core/verify/request/signed-request.ts'
import { compileVerifier, verify } from '../../core/verify/verify.ts'
import { withParts } from './parts.ts'
import { reasonsOf } from './reasons.fixture.ts'
import { type ProviderPage, withTables } from './table.ts'

const OVERVIEW = readFileSync(new URL('../providers.md', import.meta.url), 'utf8')
const PAGES: readonly ProviderPage[] = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.md'))
  .toSorted()
  .map((file) => ({
    name: file.slice(0, -3),
    text: readFileSync(new URL(file, import.meta.url), 'utf8'),
  }))
const OF_PRESETS = PAGES.filter(({ text }) => presetsOf(text).length > 0)
const OWN_SCHEME = PAGES.find(({ name }) => name === 'own-scheme')?.text ?? ''

function presetsOf(text: string): string[] {
  return [...text.matchAll(/<!-- facts (\w+)/g)].map(([, preset = '']) => preset)
}

/** As the formatter leaves it. */
const cells = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')

test('docs/providers.md has the presets and the pages that there are (npm run docs:providers)', () => {
  expect(cells(withTables(OVERVIEW, PAGES))).toBe(cells(OVERVIEW))
})

test.each(PAGES)(
  'the page of $name has what its presets say (npm run docs:providers)',
  ({ text }) => {
    expect(cells(withParts(text))).toBe(cells(text))
  },
)

test('there is a page for each popular provider', () => {
  expect(OF_PRESETS.length).toBeGreaterThanOrEqual(20)
})

const HEADINGS = ['Pick the first events', 'Test it', 'When a request is rejected']

test.each(OF_PRESETS)('the page of $name goes all the way', ({ text }) => {
  expect(HEADINGS.filter((heading) => !text.includes(`\n## ${heading}\n`))).toEqual([])
  expect(text).toMatch(/\n## \d\. At /)
  expect(text).toMatch(/^INGEST=/m)
  expect(text).toContain('```json filter')
})

/** The reasons of a table whose first column they are. */
function reasonsIn(text: string): string[] {
  const rows = [...text.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) +\|/gm)].flatMap(([, names = '']) =>
    names.split(', ').map((name) => name.replaceAll('`', '')),
  )
  return rows.filter((name) => REJECTION_REASONS.some((reason) => reason === name)).toSorted()
}

test.each(OF_PRESETS)(
  'the page of $name explains each reason that its verifier gives',
  ({ text }) => {
    const given = new Set(presetsOf(text).flatMap((preset) => reasonsOf(preset)))
    expect(reasonsIn(text)).toEqual([...given].toSorted())
  },
)

test('docs/providers.md explains every reason', () => {
  expect(reasonsIn(OVERVIEW)).toEqual([...REJECTION_REASONS].toSorted())
})

const SHORT = [OVERVIEW, ...PAGES.map(({ text }) => text)].flatMap((text) =>
  [...text.matchAll(/`(\{"(?:preset|type)":"\w+"(?:[^{}]|\{[^{}]*\})*\})`/g)].map(
    ([, verifier = '']) => verifier,
  ),
)

test.each([...new Set(SHORT)])('the verifier %s is one', (text) => {
  expect(VerifierInput.safeParse(JSON.parse(text)).error).toBeUndefined()
})

const WRITTEN_OUT = [...OWN_SCHEME.matchAll(/```json verifier\n(.*?)```/gs)].map(
  ([, text = '']) => text,
)

test('the verifiers that are written out could accept a request', () => {
  expect(WRITTEN_OUT.length).toBe(3)
  const faults = WRITTEN_OUT.map((text) => {
    const { config, secrets } = splitSecrets(VerifierInput.parse(JSON.parse(text)))
    return faultsOf(config, { current: secrets.current, members: secrets.members })
  })
  expect(faults).toEqual([[], [], []])
})

test('the scheme of your own verifies what its page says', () => {
  const { secret, ...config } = JSON.parse(WRITTEN_OUT[0] ?? '')
  const verifier = compileVerifier(VerifierInput.parse(config), { current: secret })
  const body = '{"type":"order.paid"}'
  const signatureAt = (time: number) =>
    createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  const sentAt = (time: number, signature = signatureAt(time)) =>
    signedOf({
      method: 'POST',
      url: 'https://x.test/m',
      headers: { 'x-acme-signature': `t=${time},v1=${signature}` },
      body,
    })
  const nowMs = 1_760_000_100_000
  const early = 1_760_000_000
  expect(verify(verifier, sentAt(early), nowMs).kind).toBe('valid')
  expect(verify(verifier, sentAt(early + 1, signatureAt(early)), nowMs)).toMatchObject({
    reason: 'signature_mismatch',
  })
  expect(verify(verifier, sentAt(nowMs), nowMs)).toMatchObject({
    reason: 'timestamp_out_of_tolerance',
  })
})
