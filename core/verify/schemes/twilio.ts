import querystring from 'node:querystring'

import { compileMac, type Mac } from '../../mac.ts'
import { sortedFields } from '../../request/form.ts'
import { toBinary } from '../../request/text.ts'
import type { SecretSlots } from '../config/secrets.ts'
import type { ConfigOf } from '../config/verifier-config.ts'
import { decodedSlots, decodeExact, sameBytes, sha256 } from '../request/encoding.ts'
import { type Check, rejected, type Slot, VALID } from '../request/signed-request.ts'
import { plainFormOf, queryOf, singleAt, type View, viewOf } from '../request/view.ts'
import { affordsHash } from '../request/work.ts'
import { iriOf, signedUrl } from './template.ts'

const SHA1_BYTES = 20
const HAS_ONE_HASH = singleAt({ in: 'query', name: 'bodySHA256' })

/**
 * The URL and the sorted form fields, or the URL alone with the body's hash in it. Twilio is not consistent about
 * the port and the escapes of the query, so several spellings of the URL count. (Twilio: validateRequest)
 */
export function compileTwilio(config: ConfigOf<'twilio'>, slots: SecretSlots): Check {
  const keys = decodedSlots(slots, 'utf8').map(([slot, secret]): [Slot, Mac] => [
    slot,
    compileMac('sha1', secret),
  ])
  return (request) => {
    const value = request.headers['x-twilio-signature']?.trim() ?? ''
    if (value === '') return rejected('missing_signature_header')
    const signature = decodeExact(value, 'base64')
    if (signature?.length !== SHA1_BYTES) return rejected('malformed_signature_header')
    const view = viewOf(request)
    if (!HAS_ONE_HASH(view)) return rejected('malformed_signature_header')
    const fields = signedFields(view)
    if (fields === undefined) return rejected('signature_mismatch')
    const bytes = Buffer.from(fields, 'latin1')
    for (const url of spellings(signedUrl(view, config.url))) {
      if (!affordsHash(request, keys.length * bytes.length)) break
      const slot = matchingSlot(keys, { url, fields: bytes }, signature)
      if (slot !== undefined) return VALID[slot]
    }
    return rejected('signature_mismatch')
  }
}

function matchingSlot(
  keys: readonly [Slot, Mac][],
  { url, fields }: { url: string; fields: Buffer },
  signature: Buffer,
): Slot | undefined {
  return keys.find(([, mac]) => sameBytes(signature, mac([url, fields])))?.[0]
}

/** The signed text after the URL. Undefined when the URL holds a hash that is not the body's, or the form is not readable. */
function signedFields(view: View): string | undefined {
  const hash = queryOf(view).get('bodySHA256')?.[0]
  if (hash === undefined) {
    const fields = plainFormOf(view)
    return fields === undefined ? undefined : sortedFields(fields)
  }
  const given = decodeExact(hash, 'hex')
  return given !== undefined && sameBytes(given, sha256(view.request.body)) ? '' : undefined
}

/** Binary strings, the likeliest first. */
function spellings(url: string): ReadonlySet<string> {
  const escaped = URL.parse(url)?.href ?? url
  const rewritten = [url, escaped].map(rewriteQuery)
  const iri = iriOf(url)
  const all = [url, escaped, ...rewritten, ...(iri === undefined ? [] : [iri])]
  return new Set(all.flatMap((text) => [text, ...portsOf(text)]).map(toBinary))
}

/** The URL without its port, and with the scheme's own where it has none. */
function portsOf(url: string): string[] {
  const [, scheme = '', host = '', rest = ''] = /^(https?:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? []
  const bareHost = host.replace(/:\d{1,5}$/, '')
  const port = scheme === 'https://' ? '443' : '80'
  const fullHost = bareHost === host ? `${host}:${port}` : host
  return [`${scheme}${bareHost}${rest}`, `${scheme}${fullHost}${rest}`]
}

function rewriteQuery(url: string): string {
  const question = url.indexOf('?')
  if (question < 0) return url
  return `${url.slice(0, question)}?${querystring.stringify(querystring.parse(url.slice(question + 1)))}`
}
