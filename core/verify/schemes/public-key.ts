import type { KeyObject } from 'node:crypto'

import type { ConfigOf } from '../config/verifier-config.ts'
import {
  affordsCheck,
  fitsAlgorithm,
  isValidAt,
  readPublicKey,
  signatureMatches,
} from '../request/asymmetric.ts'
import {
  type Check,
  ConfigFault,
  type KeyRequest,
  type Step,
  withoutKey,
} from '../request/signed-request.ts'
import { compileSigned, type Match, type Reading } from './signed.ts'
import { assemble, compileTemplates, type Content } from './template.ts'

/** A public-key signature over a template, with keys from the configuration or a certificate. Throws a ConfigFault. */
export function compilePublicKey(config: ConfigOf<'public_key'>): Check {
  return compileSigned(config, fitsAlgorithm(config.algorithm), keyMatcher(config))
}

function keyMatcher(config: ConfigOf<'public_key'>): Match {
  if ([config.content].flat().some((text) => text.includes('{secret}'))) {
    throw new ConfigFault('A public key has no {secret}', ['content'])
  }
  const templates = compileTemplates(config)
  const findKeys = keyFinder(config)
  return (reading) => {
    const found = findKeys(reading)
    if (found.kind === 'step') return found.step
    const { view, parsed } = reading
    const { candidates } = parsed
    for (const template of templates) {
      const content = assemble(template, reading)
      if (content === undefined) continue
      const data = joined(content)
      const affordsKey = (key: KeyObject): boolean => affordsCheck(view.request, key, data.length)
      const matches = found.keys.some((key) =>
        candidates.some(
          (signature) =>
            affordsKey(key) && signatureMatches(config.algorithm, key, { data, signature }),
        ),
      )
      if (!matches) continue
      reading.content = content
      return undefined
    }
    return 'signature_mismatch'
  }
}

function joined(content: Content): Buffer {
  return Buffer.concat(
    content.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
  )
}

type Found = { kind: 'keys'; keys: readonly KeyObject[] } | { kind: 'step'; step: Step }

function keyFinder(config: ConfigOf<'public_key'>): (reading: Reading) => Found {
  const { keySource, publicKeys = [] } = config
  if (keySource === undefined) {
    if (publicKeys.length === 0) throw new ConfigFault('Required', ['publicKeys'])
    const keys = publicKeys.map((text, index) =>
      readPublicKey(text, config.algorithm, ['publicKeys', index]),
    )
    const found: Found = { kind: 'keys', keys }
    return () => found
  }
  const header = keySource.header.toLowerCase()
  const hosts = new Set(keySource.hosts.map((host) => host.toLowerCase()))
  return ({ view, keys, nowMs }) => {
    const value = view.request.headers[header]?.trim() ?? ''
    if (value === '') return { kind: 'step', step: 'missing_signature_header' }
    const url = certificateUrl(value, hosts)
    if (url === undefined) return { kind: 'step', step: 'malformed_signature_header' }
    const request: KeyRequest = { kind: 'cert', url }
    const answer = keys(request)
    if (answer === undefined) return { kind: 'step', step: { kind: 'needs_key', request } }
    if (answer.kind === 'failed') return { kind: 'step', step: withoutKey(answer) }
    const valid = answer.keys.filter((key) => isValidAt(key, nowMs))
    return { kind: 'keys', keys: valid.map(({ key }) => key) }
  }
}

/**
 * The sender names the certificate: only these hosts, so that it cannot be the sender's own, and one
 * spelling of each, so that a query cannot make it be fetched again.
 */
function certificateUrl(value: string, hosts: ReadonlySet<string>): string | undefined {
  const url = URL.parse(value)
  if (url === null || url.protocol !== 'https:' || url.port !== '') return undefined
  if (url.username !== '' || url.password !== '' || !hosts.has(url.hostname)) return undefined
  return `${url.origin}${url.pathname}`
}
