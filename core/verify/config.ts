import { isIP } from 'node:net'

import { z } from 'zod'

/** No verifier waits for a request longer than a day. */
const TOLERANCE_SECONDS_MAX = 86_400
const TOLERANCE_SECONDS_DEFAULT = 300

const Name = z.string().min(1).max(256)
const Prefix = z.string().max(64)
const Separator = z.string().min(1).max(8)
const PublicKeyText = z
  .string()
  .trim()
  .min(1)
  .max(8192)
  .refine((text) => !text.includes('PRIVATE KEY'), 'a private key is not accepted')
const PublicKeys = z.array(PublicKeyText).min(1).max(10)
const Tolerance = z.int().min(0).max(TOLERANCE_SECONDS_MAX).default(TOLERANCE_SECONDS_DEFAULT)
const HttpsUrl = z.url({ protocol: /^https$/ }).max(2048)

/** Secrets are pasted with a newline more often than they end in one. */
const Secret = z.string().trim().min(1).max(4096).optional()

/** `secret` is optional everywhere: stored and shown configurations lack it, and Asana and Notion hand theirs over later. */
const base = { preset: z.string().min(1).max(64).optional() }

export const Location = z.strictObject({
  in: z.enum(['header', 'query', 'json', 'form']),
  name: Name,
})
const Token = Location.extend({ prefix: Prefix.optional() })

const Signature = z.strictObject({
  in: z.enum(['header', 'json', 'form', 'query']).default('header'),
  names: z.array(Name).min(1).max(10),
  format: z.enum(['list', 'pairs', 'positional']).default('list'),
  encoding: z.enum(['hex', 'base64', 'base64url']),
  prefix: Prefix.optional(),
  itemSeparator: Separator.optional(),
  keySeparator: Separator.optional(),
  signatureKey: Name.optional(),
  timestampKey: Name.optional(),
})

const Timestamp = z.strictObject({
  in: z.enum(['header', 'signature', 'json', 'form']),
  name: Name.optional(),
  format: z.enum(['unix', 'unix_ms', 'iso8601']),
  toleranceSeconds: Tolerance,
})

const SignedHeaders = z.strictObject({
  in: z.enum(['header', 'signature']),
  name: Name,
  separator: Separator,
  sort: z.boolean().default(false),
  render: z.enum(['pairs', 'values']),
  joiner: Separator,
})

const Content = z.string().min(1).max(1024)

/** Members that `hmac` and `public_key` share: where the signature is and what it covers. */
const signed = {
  signature: Signature,
  content: z.union([Content, z.array(Content).min(1).max(4)]).default('{body}'),
  timestamp: Timestamp.optional(),
  id: Location.optional(),
  signedHeaders: SignedHeaders.optional(),
  params: z.record(Name, z.string().max(1024)).optional(),
  /** Header values that name the scheme's version; another one is a scheme not implemented here. */
  requiredHeaders: z.record(Name, z.string().max(256)).optional(),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .optional(),
}

const None = z.strictObject({ ...base, type: z.literal('none') })

const BasicAuth = z.strictObject({
  ...base,
  type: z.literal('basic_auth'),
  username: z
    .string()
    .max(256)
    .regex(/^[^:]*$/, 'a user name cannot hold a colon'),
  secret: Secret,
})

const SharedToken = z.strictObject({
  ...base,
  type: z.literal('shared_token'),
  token: Token,
  secret: Secret,
})

const StandardWebhooks = z.strictObject({
  ...base,
  type: z.literal('standard_webhooks'),
  secret: Secret,
  publicKeys: PublicKeys.optional(),
  headerPrefixes: z.array(Name).min(1).max(4).default(['webhook-', 'svix-']),
  /** `utf8`: the text itself; `prefixed`: base64 after `whsec_`, otherwise as `utf8`. A `utf8` text in base64 counts decoded too. */
  secretEncoding: z.enum(['base64', 'utf8', 'prefixed']).default('base64'),
  toleranceSeconds: Tolerance,
})

const Hmac = z.strictObject({
  ...base,
  ...signed,
  type: z.literal('hmac'),
  algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
  construction: z.enum(['hmac', 'hash']).default('hmac'),
  secret: Secret,
  secretEncoding: z.enum(['utf8', 'base64', 'hex', 'sha1']).default('utf8'),
})

const CertUrl = z.strictObject({
  kind: z.literal('cert_url'),
  header: Name,
  hosts: z.array(z.hostname()).min(1).max(10),
})

const PublicKey = z.strictObject({
  ...base,
  ...signed,
  type: z.literal('public_key'),
  algorithm: z.enum(['ed25519', 'ecdsa_p256_sha256', 'rsa_sha256', 'rsa_sha1']),
  publicKeys: PublicKeys.optional(),
  keySource: CertUrl.optional(),
})

/** A public key only: `oct` and private members would be a secret in a readable place. */
const Jwk = z
  .looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']), kid: z.string().max(256).optional() })
  .refine((key) => !('d' in key), 'a private key is not accepted')

const KeySource = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('secret') }),
  z.strictObject({ kind: z.literal('jwks'), url: HttpsUrl }),
  z.strictObject({ kind: z.literal('inline'), keys: z.array(Jwk).min(1).max(10) }),
  z.strictObject({
    kind: z.literal('plaid'),
    environment: z.enum(['production', 'sandbox', 'development']),
    clientId: Name,
  }),
])

const Jwt = z.strictObject({
  ...base,
  type: z.literal('jwt'),
  token: Token,
  algorithms: z
    .array(
      z.enum([
        'HS256',
        'HS384',
        'HS512',
        'RS256',
        'RS384',
        'RS512',
        'PS256',
        'ES256',
        'ES384',
        'EdDSA',
      ]),
    )
    .min(1),
  secret: Secret,
  keySource: KeySource.default({ kind: 'secret' }),
  issuer: z.array(z.string().min(1).max(1024)).min(1).optional(),
  audience: z.array(z.string().min(1).max(1024)).min(1).optional(),
  claims: z.record(Name, z.union([z.string(), z.number(), z.boolean()])).optional(),
  bodyHash: z
    .strictObject({ claim: Name, encoding: z.enum(['hex', 'base64']).default('hex') })
    .optional(),
  maxAgeSeconds: z.int().min(1).max(TOLERANCE_SECONDS_MAX).optional(),
  clockSkewSeconds: z.int().min(0).max(3600).default(60),
})

const IpAllowList = z.strictObject({
  ...base,
  type: z.literal('ip_allow_list'),
  cidrs: z.array(z.string().refine(isCidr, 'not an address range')).min(1).max(500),
})

const Twilio = z.strictObject({
  ...base,
  type: z.literal('twilio'),
  secret: Secret,
  url: signed.url,
})

const Adyen = z.strictObject({ ...base, type: z.literal('adyen'), secret: Secret })

const AwsSns = z.strictObject({
  ...base,
  type: z.literal('aws_sns'),
  topicArns: z.array(z.string().regex(/^arn:/)).min(1).max(50),
})

const Member = z.discriminatedUnion('type', [
  BasicAuth,
  SharedToken,
  StandardWebhooks,
  Hmac,
  PublicKey,
  Jwt,
  IpAllowList,
  Twilio,
  Adyen,
  AwsSns,
])

const AllOf = z.strictObject({
  ...base,
  type: z.literal('all_of'),
  verifiers: z.array(Member).min(1).max(5),
})

/** Every verifier type with all its members. Unknown members are refused. (decisions: Resources, Source) */
export const VerifierConfig = z.discriminatedUnion('type', [None, ...Member.options, AllOf])

export type VerifierConfig = z.infer<typeof VerifierConfig>
type VerifierType = VerifierConfig['type']
export type ConfigOf<T extends VerifierType> = Extract<VerifierConfig, { type: T }>
export type MemberConfig = z.infer<typeof Member>
export type SignedConfig = ConfigOf<'hmac' | 'public_key'>
export type Location = z.infer<typeof Location>

/** A configuration as written by hand: any member may be missing but the type. */
export type PresetConfig = DraftOf<z.input<typeof VerifierConfig>>
type DraftOf<C> = C extends { type: infer T } ? Draft<Omit<C, 'type'>> & { type: T } : never
type Draft<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: Draft<T[K]> }
    : T

export const VERIFIER_TYPES: ReadonlySet<string> = new Set(
  VerifierConfig.options.map((option) => option.shape.type.value),
)

/** The name stored with an event: frozen at ingest, whatever becomes of the source. */
export function verifiedWith(config: { preset?: string | undefined; type: string }): string {
  return config.preset ?? config.type
}

/** Whether `rotate-secret` has something to rotate. The members of `all_of` are changed by writing the verifier. */
export function acceptsSecret(config: VerifierConfig): boolean {
  switch (config.type) {
    case 'basic_auth':
    case 'shared_token':
    case 'standard_webhooks':
    case 'hmac':
    case 'twilio':
    case 'adyen':
      return true
    case 'jwt':
      return config.keySource.kind === 'secret' || config.keySource.kind === 'plaid'
    case 'none':
    case 'public_key':
    case 'ip_allow_list':
    case 'aws_sns':
    case 'all_of':
      return false
  }
}

/** Placeholders whose value is the whole message. A CRC is none: it can be met by another body. */
const COVERS_BODY = /\{(?:body|bodyEscaped|bodySha256|form\.sorted|form\.(?:[A-Za-z]+_)?payload)\}/

export function coversBody(content: string): boolean {
  return COVERS_BODY.test(content)
}

/** Whether the signature covers the body: without it anyone who saw one request can send another body. */
export function bodyAuthenticated(config: VerifierConfig): boolean {
  switch (config.type) {
    case 'standard_webhooks':
    case 'twilio':
    case 'aws_sns':
      return true
    case 'hmac':
    case 'public_key':
      return [config.content].flat().some(coversBody)
    case 'jwt':
      return config.bodyHash !== undefined
    case 'all_of':
      return config.verifiers.some(bodyAuthenticated)
    // Adyen signs eight fields of each item, the rest of the body is free.
    case 'adyen':
    case 'none':
    case 'basic_auth':
    case 'shared_token':
    case 'ip_allow_list':
      return false
  }
}

/** Whether the signature covers the ingest URL, so that a new mask breaks it until the sender is told. */
export function signsUrl(config: VerifierConfig): boolean {
  if (config.type === 'all_of') return config.verifiers.some(signsUrl)
  if (config.type === 'twilio') return config.url === undefined
  if (config.type !== 'hmac' && config.type !== 'public_key') return false
  const contents = [config.content].flat()
  return config.url === undefined && contents.some((content) => SIGNS_URL.test(content))
}

const SIGNS_URL = /\{(?:url|urlUnescaped|iri|path|pathEncoded)\}/

/** Where requests carry the secret itself, to be masked before they are stored. (decisions: Ingest) */
export function secretCarriers(config: VerifierConfig): Location[] {
  if (config.type === 'all_of') return config.verifiers.flatMap(secretCarriers)
  if (config.type === 'basic_auth') return [{ in: 'header', name: 'authorization' }]
  if (config.type !== 'shared_token') return []
  return [{ in: config.token.in, name: config.token.name }]
}

function isCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  if (bits === undefined) return true
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}
