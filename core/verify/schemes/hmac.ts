import { createHash } from 'node:crypto'

import { compileMac, DIGEST_BYTES, type Mac } from '../../mac.ts'
import type { SecretSlots } from '../config/secrets.ts'
import type { ConfigOf } from '../config/verifier-config.ts'
import { decodedSlots, sameBytes } from '../request/encoding.ts'
import { type Check, ConfigFault, type Slot } from '../request/signed-request.ts'
import { affordsHash } from '../request/work.ts'
import { compileSigned, type Match, type Reading } from './signed.ts'
import { assemble, compileTemplates, type Content, lengthOf, SECRET } from './template.ts'

/** A keyed MAC, or the plain hash of HubSpot's old schemes, over a template. Throws a ConfigFault. */
export function compileHmac(config: ConfigOf<'hmac'>, slots: SecretSlots): Check {
  const bytes = DIGEST_BYTES[config.algorithm]
  const fits = (candidate: Buffer): boolean => candidate.length === bytes
  return compileSigned(config, fits, macMatcher(config, slots))
}

function macMatcher(config: ConfigOf<'hmac'>, slots: SecretSlots): Match {
  const isHash = config.construction === 'hash'
  if ([config.content].flat().some((text) => text.includes('{secret}') !== isHash)) {
    throw new ConfigFault(
      '{secret} belongs in the content of the construction "hash", and only there',
      ['content'],
    )
  }
  const templates = compileTemplates(config)
  const digests = decodedSlots(slots, config.secretEncoding).map(([slot, secret]): [Slot, Mac] => [
    slot,
    digestWith(config, secret),
  ])
  return (reading) => {
    for (const template of templates) {
      const content = assemble(template, reading)
      if (content === undefined) continue
      const slot = matchingSlot(digests, content, reading)
      if (slot === undefined) continue
      reading.slot = slot
      reading.content = content
      return undefined
    }
    return 'signature_mismatch'
  }
}

function matchingSlot(
  digests: readonly [Slot, Mac][],
  content: Content,
  { view, parsed }: Reading,
): Slot | undefined {
  const bytes = lengthOf(content)
  for (const [slot, digest] of digests) {
    if (!affordsHash(view.request, bytes)) return undefined
    const expected = digest(content)
    for (const candidate of parsed.candidates) if (sameBytes(candidate, expected)) return slot
  }
  return undefined
}

export function digestWith({ algorithm, construction }: ConfigOf<'hmac'>, secret: Buffer): Mac {
  if (construction !== 'hash') return compileMac(algorithm, secret)
  return (content) => {
    const sink = createHash(algorithm)
    for (const part of content) {
      if (typeof part === 'string') sink.update(part, 'latin1')
      else sink.update(part === SECRET ? secret : part)
    }
    return sink.digest()
  }
}
