import type { VerifierConfig } from '../../core/verify/config/verifier-config.ts'
import { listPresets, VerifierInput, type PresetEntry } from '../../core/verify/presets/presets.ts'

/**
 * The parts of docs/providers/*.md that are made of the presets. `address` makes a source that waits for its secret,
 * `secret` gives it the secret, `source` does both at once; `facts` says how the provider signs. The values of an
 * example stand in the mark: `<!-- source github SECRET=it-is-a-secret -->`.
 */
const PART =
  /(?<begin><!-- (?<kind>address|secret|source|facts) (?<name>\w+)(?<values>.*?) -->\n\n).*?<!-- \/\k<kind> -->/gs

/** The page with its parts made anew. Throws for a preset that there is not. */
export function withParts(page: string): string {
  return [...page.matchAll(PART)].reduce((text, { 0: part, groups = {} }) => {
    const { begin = '', kind = '', name = '', values = '' } = groups
    const preset = listPresets().find((entry) => entry.preset === name)
    if (preset === undefined) throw new Error(`There is no preset ${name}`)
    const words = made(kind, preset, values.trim().split(' '))
    return text.replace(part, () => `${begin}${words}\n\n<!-- /${kind} -->`)
  }, page)
}

function made(kind: string, preset: PresetEntry, values: readonly string[]): string {
  switch (kind) {
    case 'address':
      return script([PUT, addressed(preset, '{"isEnabled":false}'), SHOW])
    case 'secret':
      return script([...assigned(values), put(preset, bodyOf(preset, { isEnabled: true }))])
    case 'source':
      return script([PUT, ...assigned(values), addressed(preset, bodyOf(preset, {})), SHOW])
    default:
      return facts(preset)
  }
}

const script = (lines: readonly string[]): string => ['```sh run', ...lines, '```'].join('\n')
const PUT =
  'put() { curl -sS --fail-with-body -X PUT -H "authorization: Bearer $KEY" -H \'content-type: application/json\' "$API/v1/$1" -d "$2"; }'
const SHOW = 'echo "$INGEST"'

const put = ({ preset }: PresetEntry, body: string): string =>
  `put sources/by-name/${preset} '${body}'`

const addressed = (preset: PresetEntry, body: string): string =>
  `INGEST=$(${put(preset, body)} | sed 's/.*"ingestUrl":"\\([^"]*\\)".*/\\1/')`

const assigned = (values: readonly string[]): string[] =>
  values.map((value) => value.replace(/=(.*)/, "='$1'"))

/** The whole source as JSON between single quotes, with variables of the shell for the values that only its owner knows. */
function bodyOf(preset: PresetEntry, first: object): string {
  const { needs, idempotencyKeys } = preset
  const body = {
    ...first,
    verifier: shortForm(preset),
    ...(needs.includes('handshake.verifyToken') && { handshake: { verifyToken: '$VERIFY_TOKEN' } }),
    ...(idempotencyKeys.length > 0 && { idempotencyKeys }),
  }
  return JSON.stringify(body).replaceAll(VARIABLE, `'"$&"'`)
}

const shortForm = ({ preset, needs }: PresetEntry): object =>
  Object.assign({ preset }, ...needs.map((need) => MEMBERS[need] ?? {}))

/** With `arn:x` for every value of its owner: each schema takes it. */
const fullForm = (preset: PresetEntry): VerifierConfig =>
  VerifierInput.parse(JSON.parse(JSON.stringify(shortForm(preset)).replaceAll(VARIABLE, 'arn:x')))

const VARIABLE = /\$[A-Z_]+/g

const MEMBERS: Readonly<Record<string, object>> = {
  secret: { secret: '$SECRET' },
  publicKeys: { publicKeys: ['$PUBLIC_KEY'] },
  'params.webhookId': { params: { webhookId: '$WEBHOOK_ID' } },
  topicArns: { topicArns: ['$TOPIC_ARN'] },
}

const code = (text: string): string => `\`${text}\``
const listed = (texts: readonly string[]): string => texts.map(code).join(', ')

function facts(preset: PresetEntry): string {
  const { eventTypeField, idempotencyKeys, handshake, ingestResponse } = preset
  const config = fullForm(preset)
  const rows = [
    ['preset', code(preset.preset)],
    ['needs', listed(preset.needs)],
    ['signature', signatureOf(config)],
    ['time', timeOf(config)],
    ['event type', eventTypeField === null ? 'none' : code(eventTypeField)],
    ['event id', idempotencyKeys.length === 0 ? 'none' : idOf(preset)],
    ['address check', handshake === null ? 'none' : 'answered by the source, and not stored'],
    ['answer', answerOf(ingestResponse)],
    ['covers the body', preset.bodyAuthenticated ? 'yes' : coverOf(config)],
  ]
  const head = [
    ['property', 'value'],
    ['---', '---'],
  ]
  return [...head, ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
}

/** The other kinds of answer do not say that a request is a duplicate. */
function idOf({ idempotencyKeys, ingestResponse }: PresetEntry): string {
  const answered = ingestResponse.kind === 'default' ? 'answered `"duplicate":true` and ' : ''
  return `${listed(idempotencyKeys)}: with it in \`idempotencyKeys\` a repeat is ${answered}not stored again`
}

function answerOf(response: PresetEntry['ingestResponse']): string {
  switch (response.kind) {
    case 'default':
      return '200 with the id of the event'
    case 'empty':
      return `${response.status ?? 200} without a body`
    case 'static':
      return '200 with the text that the provider asks for'
  }
}

const ALGORITHMS: Readonly<Record<string, string>> = {
  sha1: 'SHA-1',
  sha256: 'SHA-256',
  sha512: 'SHA-512',
  ed25519: 'Ed25519',
  ecdsa_p256_sha256: 'ECDSA P-256 with SHA-256',
  rsa_sha256: 'RSA with SHA-256',
}

const WRITTEN: Readonly<Record<string, string>> = {
  twilio:
    'header `x-twilio-signature`: HMAC-SHA-1 in base64 over the address and the sorted fields of the form',
  adyen:
    '`additionalData.hmacSignature` of each item in the body: HMAC-SHA-256 in base64 over eight of its members',
  aws_sns: '`Signature` in the body: RSA over its members, with a certificate of Amazon',
}

function signatureOf(config: VerifierConfig): string {
  if (config.type === 'hmac' || config.type === 'public_key') {
    const mac = config.type === 'hmac' && config.construction === 'hmac' ? 'HMAC-' : ''
    const place = config.signature.in === 'json' ? 'body' : config.signature.in
    const how = `${mac}${ALGORITHMS[config.algorithm]} in ${config.signature.encoding}`
    const [content = ''] = [config.content].flat()
    return `${place} ${listed(config.signature.names)}: ${how} over ${code(content)}`
  }
  if (config.type === 'standard_webhooks') {
    const [prefix = ''] = config.headerPrefixes
    return `headers ${listed(['id', 'timestamp', 'signature'].map((name) => `${prefix}${name}`))}: HMAC-SHA-256 in base64 over \`{id}.{timestamp}.{body}\``
  }
  if (config.type === 'shared_token') {
    return `${config.token.in} ${code(config.token.name)} is the secret itself`
  }
  return WRITTEN[config.type] ?? config.type.replaceAll('_', ' ')
}

/** How far a signature reaches into the body that does not cover it whole. */
function coverOf(config: VerifierConfig): string {
  if (config.type === 'adyen') return 'in part: eight members of each item'
  if (config.type === 'aws_sns') return 'in part: `Message` and the other members that are signed'
  const contents = 'content' in config ? [config.content].flat() : []
  return contents.some((content) => content.includes('{bodyCrc32}'))
    ? 'by its CRC-32 alone, which another body can have too'
    : 'no: it proves who sends, not what'
}

const OF_ANY_AGE = 'signed, of any age'

function timeOf(config: VerifierConfig): string {
  if (config.type === 'standard_webhooks') return 'at most 300 s from the clock of ingest'
  if (config.type === 'aws_sns') return OF_ANY_AGE
  const seconds = 'timestamp' in config ? config.timestamp?.toleranceSeconds : undefined
  if (seconds === undefined) return 'not signed'
  return seconds === 0 ? OF_ANY_AGE : `at most ${seconds} s from the clock of ingest`
}
