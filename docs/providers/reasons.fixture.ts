import { splitSecrets } from '../../core/verify/config/secrets.ts'
import { keysOf, type SentRequest, signedOf, VECTORS } from '../../core/verify/events.fixture.ts'
import { VerifierInput } from '../../core/verify/presets/presets.ts'
import type { RejectionReason } from '../../core/verify/request/signed-request.ts'
import { compileVerifier, verify } from '../../core/verify/verify.ts'

const DAY_MS = 86_400_000

/** Every reason for which a preset rejects its provider's request after something in it, the time or its key was spoilt. */
export function reasonsOf(preset: string): RejectionReason[] {
  const vector = VECTORS.find((entry) => entry.preset === preset)
  if (vector === undefined) throw new Error(`There is no vector of ${preset}`)
  const { config, secrets } = splitSecrets(VerifierInput.parse({ preset, ...vector.verifier }))
  const compiled = compileVerifier(config, { current: secrets.current })
  const now = vector.now * 1000
  const requests = vector.events.map(({ request }) => request)
  const verdicts = [
    ...requests
      .flatMap(spoilt)
      .map((request) => verify(compiled, signedOf(request), now, (key) => keysOf(vector, key))),
    ...requests.map((request) =>
      verify(compiled, signedOf(request), now + DAY_MS, (key) => keysOf(vector, key)),
    ),
    ...requests.map((request) =>
      verify(compiled, signedOf(request), now, () => ({ kind: 'failed', why: 'no key' })),
    ),
  ]
  const reasons = verdicts.flatMap((verdict) =>
    verdict.kind === 'rejected' ? [verdict.reason] : [],
  )
  return [...new Set(reasons)].toSorted()
}

/** The request with one thing in it taken away or written wrong. */
function spoilt(request: SentRequest): SentRequest[] {
  const headers = Object.entries(request.headers).flatMap(([name, value]) => [
    omit(request.headers, name),
    ...['nonsense', ...withoutAnItem(value)].map((text) => ({ ...request.headers, [name]: text })),
  ])
  const bodies = [`${request.body} `, '{}', ...membersSpoilt(request.body)]
  return [
    ...headers.map((others) => ({ ...request, headers: others })),
    ...bodies.map((body) => ({ ...request, body })),
  ]
}

/** `t=1,v1=2` without each of its items, and with each written wrong. */
function withoutAnItem(value: string): string[] {
  const items = value.split(/(?<=[,;])/)
  return items.flatMap((item, index) => [
    items.toSpliced(index, 1).join(''),
    items.toSpliced(index, 1, item.replace(/=[^,;]*/, '=nonsense')).join(''),
  ])
}

function membersSpoilt(body: string): string[] {
  if (!/^[{[]/.test(body)) return []
  return places(JSON.parse(body), []).flatMap((path) => [
    JSON.stringify(changed(JSON.parse(body), path, undefined)),
    JSON.stringify(changed(JSON.parse(body), path, 'nonsense')),
  ])
}

type Path = readonly string[]

function places(value: unknown, path: Path): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, member]) => places(member, [...path, name]))
}

function changed(value: unknown, [first, ...rest]: Path, to: string | undefined): unknown {
  if (first === undefined) return to
  if (typeof value !== 'object' || value === null) return value
  const member: unknown = Reflect.get(value, first)
  Reflect.set(value, first, changed(member, rest, to))
  return value
}

function omit(headers: SentRequest['headers'], name: string): SentRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))
}
