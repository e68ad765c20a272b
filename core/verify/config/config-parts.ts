import { z } from 'zod'

/** No verifier waits for a request longer than a day. */
export const TOLERANCE_SECONDS_MAX = 86_400
const TOLERANCE_SECONDS_DEFAULT = 300

export const Name = z.string().min(1).max(256)
const Prefix = z.string().max(64)
const Separator = z.string().min(1).max(8)
const PublicKeyText = z
  .string()
  .trim()
  .min(1)
  .max(8192)
  .refine((text) => !text.includes('PRIVATE KEY'), 'a private key is not accepted')
export const PublicKeys = z.array(PublicKeyText).min(1).max(10)
export const Tolerance = z
  .int()
  .min(0)
  .max(TOLERANCE_SECONDS_MAX)
  .default(TOLERANCE_SECONDS_DEFAULT)
const HttpsUrl = z.url({ protocol: /^https$/ }).max(2048)

/** Secrets are pasted with a newline more often than they end in one. */
const Secret = z.string().trim().min(1).max(4096).optional()

/** `secret` is optional everywhere: stored and shown configurations lack it, and Asana and Notion hand theirs over later. */
export const base = {
  preset: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('The preset whose members these are; events show its name.'),
}

export const hidden = { secret: Secret.describe('The secret of the provider. It is never shown.') }

const place = {
  in: z
    .enum(['header', 'query', 'json', 'form'])
    .describe('The part of the request: `json` and `form` are members of its body.'),
  name: Name.describe('The name of the header, parameter or field; a dotted path in `json`.'),
}

export const Location = z
  .strictObject(place)
  .meta({ id: 'RequestLocation', description: 'A place in a request.' })

export const Token = z
  .strictObject({
    ...place,
    prefix: Prefix.optional().describe('The text before the token, such as `Bearer `.'),
  })
  .meta({ id: 'TokenLocation', description: 'Where a request carries a token.' })

const Signature = z
  .strictObject({
    in: z
      .enum(['header', 'json', 'form', 'query'])
      .default('header')
      .describe('The part of the request that carries it.'),
    names: z
      .array(Name)
      .min(1)
      .max(10)
      .describe(
        'The names to look under; one may end with `*`. Any signature that is right counts.',
      ),
    format: z
      .enum(['list', 'pairs', 'positional'])
      .default('list')
      .describe(
        '`list`: signatures one after another. `pairs`: `t=…,v1=…`. `positional`: the time, then signatures.',
      ),
    encoding: z.enum(['hex', 'base64', 'base64url']).describe('How its bytes are written.'),
    prefix: Prefix.optional().describe('The text before each signature, such as `sha256=`.'),
    itemSeparator: Separator.optional().describe('The text between items.'),
    keySeparator: Separator.optional().describe('With `pairs`: the text after a key.'),
    signatureKey: Name.optional().describe('With `pairs`: the key of signatures.'),
    timestampKey: Name.optional().describe('With `pairs`: the key of the time.'),
  })
  .meta({ id: 'SignatureLocation', description: 'Where a request carries its signature.' })

const Timestamp = z
  .strictObject({
    in: z
      .enum(['header', 'signature', 'json', 'form'])
      .describe('The part of the request that carries it.'),
    name: Name.optional().describe(
      'The name of the header or field, or of a key of the signature; a dotted path in `json`.',
    ),
    format: z
      .enum(['unix', 'unix_ms', 'iso8601'])
      .describe('Seconds or milliseconds since 1970, or a date such as `2026-11-20T09:00:00Z`.'),
    toleranceSeconds: Tolerance.describe('How far from now it may be; 0 is as far as it likes.'),
  })
  .meta({ id: 'TimestampLocation', description: 'Where a request carries its time.' })

const SignedHeaders = z
  .strictObject({
    in: z.enum(['header', 'signature']).describe('The part of the request that lists them.'),
    name: Name.describe('The header, or the key of the signature, that holds the list.'),
    separator: Separator.describe('The text between the names of the list.'),
    sort: z.boolean().default(false).describe('The names are sorted first.'),
    render: z.enum(['pairs', 'values']).describe('Whether names are signed with their values.'),
    joiner: Separator.describe('The text between the headers in the signed content.'),
  })
  .meta({ id: 'SignedHeaders', description: 'A list of headers that the signature covers.' })

const Content = z.string().min(1).max(1024)

const SignedContent = z.union([Content, z.array(Content).min(1).max(4)]).meta({
  id: 'SignedContent',
  description:
    'A template of what is signed, or several of which one has to fit: `{body}`, `{timestamp}`, `{id}`, `{method}`, `{path}`, `{url}`, `{header.<name>}`, `{param.<name>}` and their like; all other text is itself.',
})

/** Members that `hmac` and `public_key` share: where the signature is and what it covers. */
export const signed = {
  signature: Signature,
  content: SignedContent.default('{body}'),
  timestamp: Timestamp.optional().describe('Where the time is, if the signature covers it.'),
  id: Location.optional().describe('Where the id is, if the signature covers it.'),
  signedHeaders: SignedHeaders.optional().describe('The headers, if the signature covers some.'),
  params: z
    .record(Name, z.string().max(1024))
    .optional()
    .describe('Values of yours for `{param.<name>}`.'),
  requiredHeaders: z
    .record(Name, z.string().max(256))
    .optional()
    .describe('Values that headers must have: those that name the version of the scheme.'),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .optional()
    .describe('The URL that the provider signs, if it is not the ingest URL.'),
}

export const CertUrl = z
  .strictObject({
    kind: z.literal('cert_url').describe('A certificate that the request names.'),
    header: Name.describe('The name of the header in which the provider gives the URL.'),
    hosts: z.array(z.hostname()).min(1).max(10).describe('The hosts that it may be fetched from.'),
  })
  .meta({ id: 'CertificateSource', description: 'Where the certificate of a request is.' })

/** A public key only: `oct` and private members would be a secret in a readable place. */
const Jwk = z
  .looseObject({
    kty: z.enum(['RSA', 'EC', 'OKP']).describe('The kind of key.'),
    kid: z.string().max(256).optional().describe('The id of the key.'),
  })
  .refine((key) => !('d' in key), 'a private key is not accepted')
  .meta({ id: 'PublicJwk', description: 'A public key as a JSON Web Key.' })

export const KeySource = z
  .discriminatedUnion('kind', [
    z
      .strictObject({ kind: z.literal('secret').describe('The secret of the verifier.') })
      .meta({ id: 'SecretKeySource', description: 'The secret is the key.' }),
    z
      .strictObject({
        kind: z.literal('jwks').describe('A set of keys at a URL.'),
        url: HttpsUrl.describe('The URL of the set.'),
      })
      .meta({ id: 'JwksKeySource', description: 'Keys that are fetched.' }),
    z
      .strictObject({
        kind: z.literal('inline').describe('Keys that are given here.'),
        keys: z.array(Jwk).min(1).max(10).describe('Public keys, any of which may have signed.'),
      })
      .meta({ id: 'InlineKeySource', description: 'Keys that are given here.' }),
    z
      .strictObject({
        kind: z.literal('plaid').describe('Keys that are fetched from Plaid.'),
        environment: z
          .enum(['production', 'sandbox', 'development'])
          .describe('The host that keys come from: `sandbox` for tests.'),
        clientId: Name.describe('Your client id at Plaid; the secret is that of the client.'),
      })
      .meta({ id: 'PlaidKeySource', description: 'Keys that are fetched from Plaid.' }),
  ])
  .meta({ id: 'JwtKeySource', description: 'Where the keys of a JWT come from.' })

export const ClaimValue = z.union([z.string(), z.number(), z.boolean()]).meta({
  id: 'ClaimValue',
  description: 'A text, a number or a truth value that a claim must equal.',
})

export const BodyHash = z
  .strictObject({
    claim: Name.describe('The claim that holds the SHA-256 of the body.'),
    encoding: z.enum(['hex', 'base64']).default('hex').describe('How the hash is written.'),
  })
  .meta({ id: 'BodyHashClaim', description: 'How a JWT covers the body.' })

/** The short form, for the document alone: a preset is expanded before anything is parsed. */
export const ShortForm = z
  .looseObject({
    preset: z.string().min(1).max(64).describe('A preset of `GET /v1/verifier-presets`.'),
    ...hidden,
  })
  .meta({
    id: 'PresetVerifier',
    description:
      'A provider by its name. The preset fills in all members; those that it `needs`, and any that should differ, are given besides.',
    examples: [{ preset: 'stripe', secret: 'whsec_…' }],
  })

export type Location = z.infer<typeof Location>
