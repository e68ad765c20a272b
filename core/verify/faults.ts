import type { SecretSlots } from './config/secrets.ts'
import type { MemberConfig, SignedConfig, VerifierConfig } from './config/verifier-config.ts'
import { handsOverSecret, presetOf } from './presets/presets.ts'
import type { ConfigFault, MemberPath } from './request/signed-request.ts'
import { jsonPath } from './request/view.ts'
import { compileVerifier } from './verify.ts'

/** A member with which a verifier could never accept a request. */
export interface MemberFault {
  path: MemberPath
  message: string
}

/**
 * Why a configuration, with its secrets, can never accept a request: whoever writes it is told, instead of finding
 * every event rejected. Empty when it can. A secret that the provider hands over may still be missing.
 */
export function faultsOf(config: VerifierConfig, slots: SecretSlots): MemberFault[] {
  const members = membersOf(config, slots)
  const found = members.flatMap(({ path, config: member, secret }) =>
    memberFaults(member, secret).map((fault) => ({ ...fault, path: [...path, ...fault.path] })),
  )
  if (found.length > 0) return found
  const { fault } = compileVerifier(config, slots)
  return fault === undefined || isHandedOver(fault, config, slots) ? [] : [fault]
}

interface Member {
  path: MemberPath
  config: VerifierConfig | MemberConfig
  secret: string | undefined
}

function membersOf(config: VerifierConfig, { current, members }: SecretSlots): Member[] {
  if (config.type !== 'all_of') return [{ path: [], config, secret: current }]
  return config.verifiers.map((member, index) => ({
    path: ['verifiers', index],
    config: member,
    secret: members?.[index] ?? undefined,
  }))
}

/** Asana and Notion send their secret to a source that has none. */
function isHandedOver(fault: ConfigFault, config: VerifierConfig, slots: SecretSlots): boolean {
  return (
    slots.current === undefined &&
    fault.path.join('.') === 'secret' &&
    handsOverSecret(presetOf(config))
  )
}

function memberFaults(config: Member['config'], secret: string | undefined): MemberFault[] {
  const lacking = (presetOf(config)?.needs ?? [])
    .filter((need) => !need.startsWith('handshake.') && valueAt(config, need) === undefined)
    .map((need) => ({ path: need.split('.'), message: 'Required by the preset' }))
  return [...lacking, ...secretFaults(config, secret), ...typeFaults(config)]
}

function valueAt(config: object, path: string): unknown {
  let at: unknown = config
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = Reflect.get(at, name)
  }
  return at
}

function secretFaults(config: Member['config'], secret: string | undefined): MemberFault[] {
  if (secret === undefined) return []
  const text = secret.trim()
  const path = ['secret']
  if (CONTROL.test(text)) return [{ path, message: 'Control characters cannot be part of it' }]
  // Other senders may let anybody choose a secret, quotes included.
  const isMade = config.type === 'standard_webhooks'
  return isMade && QUOTED.test(text) ? [{ path, message: 'Write it without the quotes' }] : []
}

const CONTROL = /[\p{Cc}\u2028\u2029]/u
const QUOTED = /^["'`]|["'`]$/

function typeFaults(config: Member['config']): MemberFault[] {
  switch (config.type) {
    case 'basic_auth':
      return textFaults(['username'], config.username)
    case 'shared_token':
      return tokenFaults(config.token)
    case 'standard_webhooks':
      return config.headerPrefixes.flatMap((prefix, index) =>
        headerFaults(['headerPrefixes', index], prefix),
      )
    case 'hmac':
    case 'public_key':
      return signedFaults(config)
    case 'jwt':
      return [
        ...tokenFaults(config.token),
        ...(config.keySource.kind === 'jwks' ? urlFaults(config.keySource.url) : []),
        ...listFaults('issuer', config.issuer),
        ...listFaults('audience', config.audience),
      ]
    case 'aws_sns':
      return config.topicArns
        .map((arn, index) => ({ arn, path: ['topicArns', index] }))
        .filter(({ arn }) => !SNS_TOPIC.test(arn))
        .map(({ path }) => ({ path, message: 'Expected the ARN of an SNS topic' }))
    case 'twilio':
      return signedUrlFaults(config.url)
    case 'none':
    case 'adyen':
    case 'ip_allow_list':
    case 'all_of':
    case 'email':
      return []
  }
}

const SNS_TOPIC = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d+:[\w-]+(?:\.fifo)?$/

function signedFaults(config: SignedConfig): MemberFault[] {
  const { signature, timestamp, id, signedHeaders } = config
  return [
    ...signature.names.flatMap((name, index) =>
      nameFaults(['signature', 'names', index], {
        in: signature.in,
        name: signature.in === 'header' ? name.replace(/\*$/, '') : name,
      }),
    ),
    ...signatureFaults(config),
    ...(timestamp?.name === undefined || timestamp.in === 'signature'
      ? []
      : nameFaults(['timestamp', 'name'], { in: timestamp.in, name: timestamp.name })),
    ...(id === undefined ? [] : nameFaults(['id', 'name'], id)),
    ...(signedHeaders?.in === 'header'
      ? headerFaults(['signedHeaders', 'name'], signedHeaders.name)
      : []),
    ...Object.entries(config.requiredHeaders ?? {}).flatMap(([name, value]) => [
      ...headerFaults(['requiredHeaders', name], name),
      ...textFaults(['requiredHeaders', name], value),
    ]),
    ...Object.entries(config.params ?? {}).flatMap(([name, value]) =>
      textFaults(['params', name], value),
    ),
    ...(config.type === 'public_key' && config.keySource !== undefined
      ? headerFaults(['keySource', 'header'], config.keySource.header)
      : []),
    ...signedUrlFaults(config.url),
    ...contentFaults(config),
  ]
}

/** Ways to take a signature apart in which nothing is ever found. */
function signatureFaults({ signature, timestamp }: SignedConfig): MemberFault[] {
  const { format, prefix = '', itemSeparator, keySeparator = '=', signatureKey = 'v1' } = signature
  const faults = [...textFaults(['signature', 'prefix'], prefix, 'start')]
  if (format === 'list') {
    if (itemSeparator !== undefined && prefix.includes(itemSeparator)) {
      faults.push(faultAt(['signature', 'prefix'], 'The item separator cannot be part of it'))
    }
    return faults
  }
  if (format === 'positional') return faults
  const separator = itemSeparator ?? ','
  if (separator === keySeparator) {
    faults.push(faultAt(['signature', 'keySeparator'], 'The item separator is the same'))
  }
  if (signatureKey.includes(separator) || signatureKey.includes(keySeparator)) {
    faults.push(faultAt(['signature', 'signatureKey'], 'A separator cannot be part of it'))
  }
  const timestampKey = signature.timestampKey ?? timestamp?.name ?? 't'
  if (timestamp?.in === 'signature' && signatureKey === timestampKey) {
    faults.push(faultAt(['signature', 'signatureKey'], 'The timestamp has the same key'))
  }
  return [...faults, ...textFaults(['signature', 'signatureKey'], signatureKey)]
}

/** Placeholders whose value no request can have. */
function contentFaults(config: SignedConfig): MemberFault[] {
  const { content, timestamp, signedHeaders, signature } = config
  const arePairs = signature.format === 'pairs'
  const faults: MemberFault[] = []
  if (timestamp?.in === 'signature' && signature.format === 'list') {
    faults.push(faultAt(['timestamp', 'in'], 'A signature of the format "list" holds no time'))
  }
  if (signedHeaders?.in === 'signature' && !arePairs) {
    faults.push(faultAt(['signedHeaders', 'in'], 'Only a signature of the format "pairs" holds it'))
  }
  const text = [content].flat().join('\n')
  if (text.includes('{timestamp}') && timestamp === undefined) {
    faults.push(faultAt(['timestamp'], 'Required by {timestamp} in the content'))
  }
  if (text.includes('{id}') && config.id === undefined) {
    faults.push(faultAt(['id'], 'Required by {id} in the content'))
  }
  if (text.includes('{signature.') && !arePairs) {
    faults.push(faultAt(['content'], '{signature.…} needs a signature of the format "pairs"'))
  }
  for (const [, place = '', name = ''] of text.matchAll(/\{(header|json)\.([^{}]+)\}/g)) {
    const location = { in: place === 'json' ? 'json' : 'header', name } as const
    faults.push(...nameFaults(['content'], location))
  }
  return faults
}

function tokenFaults(token: {
  in: Place
  name: string
  prefix?: string | undefined
}): MemberFault[] {
  const name = token.in === 'json' ? token.name.replaceAll('[*]', '') : token.name
  return [
    ...nameFaults(['token', 'name'], { in: token.in, name }),
    ...textFaults(['token', 'prefix'], token.prefix ?? '', 'start'),
  ]
}

type Place = 'header' | 'query' | 'json' | 'form'

function nameFaults(path: MemberPath, { in: place, name }: { in: Place; name: string }) {
  if (place === 'header') return headerFaults(path, name)
  const isPath = place !== 'json' || (jsonPath(name).length > 0 && !name.includes('[*]'))
  return isPath ? textFaults(path, name) : [faultAt(path, 'Expected a path, such as data.0.id')]
}

/** (RFC 9110, section 5.1) */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

function headerFaults(path: MemberPath, name: string): MemberFault[] {
  const isName = HEADER_NAME.test(name) && name !== '__proto__'
  return isName ? [] : [faultAt(path, 'Expected the name of a header')]
}

/** Faults of a text around a value that could never match: blanks are trimmed before values are compared. */
function textFaults(path: MemberPath, text: string, which: 'start' | 'both' = 'both') {
  if (CONTROL.test(text)) return [faultAt(path, 'Control characters cannot be part of it')]
  const trimmed = which === 'start' ? text.trimStart() : text.trim()
  return trimmed === text ? [] : [faultAt(path, 'Write it without blanks around it')]
}

function listFaults(member: string, texts: readonly string[] | undefined): MemberFault[] {
  return (texts ?? []).flatMap((text, index) => textFaults([member, index], text))
}

/** A URL that is signed is taken letter by letter. */
function signedUrlFaults(url: string | undefined): MemberFault[] {
  return url === undefined || !/[\s\p{Cc}]/u.test(url)
    ? []
    : [faultAt(['url'], 'Write blanks as %20, and none around it')]
}

function urlFaults(text: string): MemberFault[] {
  const url = new URL(text)
  const isBare = url.username === '' && url.password === '' && text === text.trim()
  return isBare
    ? []
    : [faultAt(['keySource', 'url'], 'Expected a URL without credentials or blanks')]
}

function faultAt(path: MemberPath, message: string): MemberFault {
  return { path, message }
}
