import { isIP } from 'node:net'

import { z } from 'zod'

import {
  base,
  BodyHash,
  CertUrl,
  ClaimValue,
  hidden,
  KeySource,
  Name,
  PublicKeys,
  ShortForm,
  signed,
  Token,
  Tolerance,
  TOLERANCE_SECONDS_MAX,
  type Location,
} from './config-parts.ts'

const None = z
  .strictObject({ ...base, type: z.literal('none').describe('Requests are not verified.') })
  .meta({ id: 'NoVerifier', description: 'Every request is taken.' })

const BasicAuth = z
  .strictObject({
    ...base,
    type: z.literal('basic_auth').describe('HTTP Basic.'),
    username: z
      .string()
      .max(256)
      .regex(/^[^:]*$/, 'a user name cannot hold a colon')
      .describe('Has to come before the colon of HTTP Basic; the secret is the password.'),
    ...hidden,
  })
  .meta({ id: 'BasicAuthVerifier', description: 'Requests carry a user name and a password.' })

const SharedToken = z
  .strictObject({
    ...base,
    type: z.literal('shared_token').describe('A token that both sides know.'),
    token: Token,
    ...hidden,
  })
  .meta({ id: 'SharedTokenVerifier', description: 'Requests carry the secret itself.' })

const StandardWebhooks = z
  .strictObject({
    ...base,
    type: z.literal('standard_webhooks').describe('The Standard Webhooks scheme.'),
    ...hidden,
    publicKeys: PublicKeys.optional().describe('The public keys of the provider, for `v1a`.'),
    headerPrefixes: z
      .array(Name)
      .min(1)
      .max(4)
      .default(['webhook-', 'svix-'])
      .describe('The prefix of its header names.'),
    secretEncoding: z
      .enum(['base64', 'utf8', 'prefixed'])
      .default('base64')
      .describe(
        'How the secret is written; `prefixed`: base64 after `whsec_`, otherwise as `utf8`, which also counts decoded if it is base64.',
      ),
    toleranceSeconds: Tolerance.describe('How far from now its time may be; 0 is no limit.'),
  })
  .meta({
    id: 'StandardWebhooksVerifier',
    description: 'Requests are signed as Standard Webhooks.',
  })

const Hmac = z
  .strictObject({
    ...base,
    ...signed,
    type: z.literal('hmac').describe('A keyed hash.'),
    algorithm: z
      .enum(['sha1', 'sha256', 'sha512'])
      .default('sha256')
      .describe('The hash function under the HMAC.'),
    construction: z
      .enum(['hmac', 'hash'])
      .default('hmac')
      .describe('`hash`: a plain hash of a content that holds `{secret}`.'),
    ...hidden,
    secretEncoding: z
      .enum(['utf8', 'base64', 'hex', 'sha1'])
      .default('utf8')
      .describe('How the secret is written; `sha1`: the key is its hash.'),
  })
  .meta({ id: 'HmacVerifier', description: 'Requests are signed with a shared secret.' })

const PublicKey = z
  .strictObject({
    ...base,
    ...signed,
    type: z.literal('public_key').describe('A signature with a private key of the provider.'),
    algorithm: z
      .enum(['ed25519', 'ecdsa_p256_sha256', 'rsa_sha256', 'rsa_sha1'])
      .describe('How the provider signs: the kind of key, and the hash where it is not fixed.'),
    publicKeys: PublicKeys.optional().describe('The public keys: PEM, base64 or hex.'),
    keySource: CertUrl.optional().describe('Where the key is, if it is fetched.'),
  })
  .meta({ id: 'PublicKeyVerifier', description: 'Requests are signed with a private key.' })

const Jwt = z
  .strictObject({
    ...base,
    type: z.literal('jwt').describe('A JSON Web Token.'),
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
      .min(1)
      .describe('The algorithms that are accepted.'),
    ...hidden,
    keySource: KeySource.default({ kind: 'secret' }),
    issuer: z.array(z.string().min(1).max(1024)).min(1).optional().describe('Allowed issuers.'),
    audience: z.array(z.string().min(1).max(1024)).min(1).optional().describe('Allowed audiences.'),
    claims: z.record(Name, ClaimValue).optional().describe('Values that claims must have.'),
    bodyHash: BodyHash.optional().describe('The claim that covers the body, if there is one.'),
    maxAgeSeconds: z
      .int()
      .min(1)
      .max(TOLERANCE_SECONDS_MAX)
      .optional()
      .describe('How old a token may be.'),
    clockSkewSeconds: z
      .int()
      .min(0)
      .max(3600)
      .default(60)
      .describe('How far the clocks of both sides may differ.'),
  })
  .meta({ id: 'JwtVerifier', description: 'Requests carry a JSON Web Token.' })

const IpAllowList = z
  .strictObject({
    ...base,
    type: z.literal('ip_allow_list').describe('The address of the sender.'),
    cidrs: z
      .array(z.string().refine(isCidr, 'not an address range'))
      .min(1)
      .max(500)
      .describe('The addresses and ranges that may send.'),
  })
  .meta({ id: 'IpAllowListVerifier', description: 'Requests come from known addresses.' })

const Twilio = z
  .strictObject({
    ...base,
    type: z.literal('twilio').describe('The scheme of Twilio.'),
    ...hidden,
    url: signed.url,
  })
  .meta({ id: 'TwilioVerifier', description: 'Requests are signed as Twilio does.' })

const Adyen = z
  .strictObject({
    ...base,
    type: z.literal('adyen').describe('The scheme of Adyen’s payment notifications.'),
    ...hidden,
  })
  .meta({ id: 'AdyenVerifier', description: 'Each item of a request is signed as Adyen does.' })

const AwsSns = z
  .strictObject({
    ...base,
    type: z.literal('aws_sns').describe('The scheme of Amazon SNS.'),
    topicArns: z
      .array(z.string().regex(/^arn:/))
      .min(1)
      .max(50)
      .describe('The topics that may send.'),
  })
  .meta({ id: 'AwsSnsVerifier', description: 'Requests are signed as Amazon SNS does.' })

const Email = z
  .strictObject({
    ...base,
    type: z.literal('email').describe('The authentication of mail, for a source of kind `email`.'),
    require: z
      .enum(['none', 'dkim', 'dmarc'])
      .default('none')
      .describe(
        '`dkim`: a signature of a domain covers the mail. `dmarc`: the domain of the one `From` address vouches for the mail. `none`: every mail is taken, and its event says how it fared.',
      ),
    allowedDomains: z
      .array(
        z
          .string()
          .trim()
          .toLowerCase()
          .max(253)
          .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'Expected a domain'),
      )
      .min(1)
      .max(100)
      .optional()
      .describe('The domains of the senders that are taken; of every sender without it.'),
  })
  .meta({ id: 'EmailVerifier', description: 'Mails are verified by DKIM and DMARC.' })

const Member = z
  .discriminatedUnion('type', [
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
  .meta({
    id: 'MemberVerifier',
    description: 'A verifier that others can stand beside.',
    shortForm: ShortForm,
  })

const AllOf = z
  .strictObject({
    ...base,
    type: z.literal('all_of').describe('Several verifiers.'),
    verifiers: z
      .array(Member)
      .min(1)
      .max(5)
      .describe('The verifiers, all of which have to accept a request.'),
  })
  .meta({ id: 'AllOfVerifier', description: 'Requests pass several verifiers.' })

/** Every verifier type with all its members. Unknown members are refused. (decisions: Resources, Source) */
export const VerifierConfig = z
  .discriminatedUnion('type', [None, ...Member.options, AllOf, Email])
  .meta({ id: 'VerifierConfig', description: 'How requests are verified.' })

export type VerifierConfig = z.infer<typeof VerifierConfig>
type VerifierType = VerifierConfig['type']
export type ConfigOf<T extends VerifierType> = Extract<VerifierConfig, { type: T }>
export type MemberConfig = z.infer<typeof Member>
export type SignedConfig = ConfigOf<'hmac' | 'public_key'>

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
    case 'email':
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
      return true
    case 'hmac':
    case 'public_key':
      return [config.content].flat().some(coversBody)
    case 'jwt':
      return config.bodyHash !== undefined
    case 'all_of':
      return config.verifiers.some(bodyAuthenticated)
    // Adyen signs eight fields of each item, Amazon some members of a message; the rest of the body is free.
    case 'adyen':
    case 'aws_sns':
    case 'none':
    case 'basic_auth':
    case 'shared_token':
    case 'ip_allow_list':
    // A signature of DKIM may cover a part of the body.
    case 'email':
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

const SIGNS_URL = /\{(?:url|urlUnescaped|iri|iriEncoded|path|pathEncoded)\}/

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
