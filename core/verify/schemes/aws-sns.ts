import type { ConfigOf } from '../config/verifier-config.ts'
import { affordsCheck, isValidAt, signatureMatches } from '../request/asymmetric.ts'
import { decodeExact } from '../request/encoding.ts'
import {
  type Check,
  type FetchedKey,
  type KeyRequest,
  rejected,
  VALID,
  withoutKey,
} from '../request/signed-request.ts'
import { documentOf, isSingle, viewOf, walk } from '../request/view.ts'

/** Only Amazon can own such a name, so only Amazon can publish a certificate there. (AWS: sns-validator) */
const SNS_HOST = /^sns\.[a-zA-Z0-9-]{3,}\.amazonaws\.com(?:\.cn)?$/

const ALGORITHMS: ReadonlyMap<string, 'rsa_sha1' | 'rsa_sha256'> = new Map([
  ['1', 'rsa_sha1'],
  ['2', 'rsa_sha256'],
])

const NOTIFICATION_KEYS = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
const CONFIRMATION_KEYS = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
]
const READ_KEYS = [
  ...new Set([...NOTIFICATION_KEYS, ...CONFIRMATION_KEYS]),
  'Signature',
  'SignatureVersion',
  'SigningCertURL',
]

/** The message in the body is signed with Amazon's own key: the topic says whose it is. */
export function compileAwsSns({ topicArns }: ConfigOf<'aws_sns'>): Check {
  const topics = new Set(topicArns)
  return (request, nowMs, keys) => {
    const document = documentOf(viewOf(request))
    const message = readMessage(document?.value)
    if (message('Signature') === '') return rejected('missing_signature_header')
    if (!READ_KEYS.every((key) => isSingle(document, [key]))) {
      return rejected('malformed_signature_header')
    }
    const algorithm = ALGORITHMS.get(message('SignatureVersion'))
    if (algorithm === undefined) return rejected('unsupported_verifier')
    const signature = decodeExact(message('Signature'), 'base64')
    const url = snsUrl(message('SigningCertURL'))
    if (signature === undefined || url === undefined || !url.pathname.endsWith('.pem')) {
      return rejected('malformed_signature_header')
    }
    if (!topics.has(message('TopicArn'))) return rejected('signature_mismatch')
    const keyRequest: KeyRequest = { kind: 'cert', url: `${url.origin}${url.pathname}` }
    const answer = keys(keyRequest)
    if (answer === undefined) return { kind: 'needs_key', request: keyRequest }
    if (answer.kind === 'failed') return withoutKey(answer)
    const valid = answer.keys.filter((key: FetchedKey) => isValidAt(key, nowMs))
    const matches = contents(message).some((content) => {
      const data = Buffer.from(content, 'utf8')
      return valid.some(
        ({ key }) =>
          affordsCheck(request, key, data.length) &&
          signatureMatches(algorithm, key, { data, signature }),
      )
    })
    return matches ? VALID.none : rejected('signature_mismatch')
  }
}

/** An https URL of SNS itself; undefined for any other. */
export function snsUrl(text: string): URL | undefined {
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || !SNS_HOST.test(url.hostname)) return undefined
  return url.port === '' && url.username === '' && url.password === '' ? url : undefined
}

type Message = (key: string) => string

function readMessage(body: unknown): Message {
  return (key) => {
    const value = walk(body, [key])
    return typeof value === 'string' ? value : ''
  }
}

/** AWS documents a Token in the text of an UnsubscribeConfirmation, its own validator leaves it out: both count. */
function contents(message: Message): string[] {
  switch (message('Type')) {
    case 'Notification':
      return [canonical(message, NOTIFICATION_KEYS)]
    case 'SubscriptionConfirmation':
      return [canonical(message, CONFIRMATION_KEYS)]
    case 'UnsubscribeConfirmation':
      return [
        canonical(message, CONFIRMATION_KEYS),
        canonical(
          message,
          CONFIRMATION_KEYS.filter((key) => key !== 'Token'),
        ),
      ]
    default:
      return []
  }
}

function canonical(message: Message, keys: readonly string[]): string {
  return keys
    .filter((key) => message(key) !== '')
    .map((key) => `${key}\n${message(key)}\n`)
    .join('')
}
