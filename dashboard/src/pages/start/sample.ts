import type { Schemas } from '../../api/client.ts'
import { quoted } from '../../parts/words/shell.ts'

const BODY = '{"type":"invoice.paid","data":{"amount":1200}}'

type Source = Schemas['Source']

/** A command that sends a webhook which the source accepts. Undefined where it cannot be made without the provider. */
export async function sampleCommand(
  source: Source,
  secret: string | undefined,
): Promise<string | undefined> {
  const headers = await headersOf(source, secret)
  if (headers === undefined) return undefined
  const all = { 'content-type': 'application/json', ...headers }
  return [
    `curl ${quoted(source.ingestUrl)}`,
    ...Object.entries(all).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `-d ${quoted(BODY)}`,
  ].join(' \\\n  ')
}

async function headersOf(
  { verifier }: Source,
  secret: string | undefined,
): Promise<Record<string, string> | undefined> {
  if (verifier.type === 'none') return {}
  // Browsers sign only on https and on this machine.
  if (secret === undefined || !isSecureContext) return undefined
  if (verifier.type === 'shared_token' && verifier.token.in === 'header') {
    return { [verifier.token.name]: `${verifier.token.prefix ?? ''}${secret}` }
  }
  if (verifier.type === 'standard_webhooks') return await standardWebhooks(verifier, secret)
  if (verifier.type === 'hmac') return await hmac(verifier, secret)
  return undefined
}

async function standardWebhooks(
  { headerPrefixes: [prefix = 'webhook-'] }: Schemas['StandardWebhooksVerifier'],
  secret: string,
): Promise<Record<string, string>> {
  const id = `msg_${crypto.randomUUID()}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const key = Uint8Array.fromBase64(secret.replace(/^whsec_/, ''))
  const signature = await sign('SHA-256', key, `${id}.${timestamp}.${BODY}`)
  return {
    [`${prefix}id`]: id,
    [`${prefix}timestamp`]: timestamp,
    [`${prefix}signature`]: `v1,${signature.toBase64()}`,
  }
}

const HASHES = { sha1: 'SHA-1', sha256: 'SHA-256', sha512: 'SHA-512' } as const

/** HMAC over the body alone, as GitHub and many others sign, and Stripe's pairs. */
async function hmac(
  verifier: Schemas['HmacVerifier'],
  secret: string,
): Promise<Record<string, string> | undefined> {
  const { signature, content, algorithm, construction, secretEncoding } = verifier
  const [name] = signature.names
  if (
    construction !== 'hmac' ||
    secretEncoding !== 'utf8' ||
    signature.in !== 'header' ||
    name === undefined
  ) {
    return undefined
  }
  const key = new TextEncoder().encode(secret)
  const written = (bytes: Uint8Array) =>
    signature.encoding === 'hex' ? bytes.toHex() : bytes.toBase64()
  const isPlain = signature.format === 'list' && verifier.timestamp === undefined
  if (isPlain && isBodyAlone(content)) {
    return {
      [name]: `${signature.prefix ?? ''}${written(await sign(HASHES[algorithm], key, BODY))}`,
    }
  }
  if (verifier.preset === 'stripe') {
    const at = Math.floor(Date.now() / 1000)
    return { [name]: `t=${at},v1=${written(await sign('SHA-256', key, `${at}.${BODY}`))}` }
  }
  return undefined
}

const isBodyAlone = (content: Schemas['SignedContent']): boolean =>
  JSON.stringify([content].flat()) === '["{body}"]'

async function sign(hash: string, key: Uint8Array, text: string): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey(
    'raw',
    Uint8Array.from(key),
    { name: 'HMAC', hash },
    false,
    ['sign'],
  )
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(text)))
}
