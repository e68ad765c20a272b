/** Within a name without its marks: `Client-Secret` and `clientSecret` are `clientsecret`. */
const STEMS =
  /authori[sz]ation|cookie|token|secret|signature|password|passwd|passphrase|passcode|passwort|pwd|hmac|credential|assertion|bearer|jwt|csrf|xsrf|(?:api|access|private|subscription|signing|encryption|master|shared|session|auth|security|service|account|secret)key|(?:verification|security|access|auth|card|confirmation|onetime|recovery|backup)code|sessionid|accesssig/

/** Each a word of a name. */
const WORDS: ReadonlySet<string> = new Set([
  'auth',
  'cvc',
  'cvv',
  'cvv2',
  'jws',
  'otp',
  'pass',
  'pat',
  'pin',
  'psk',
  'pw',
  'sas',
  'session',
  'sid',
  'sig',
  'totp',
])

/** Names that are secret as a whole, and common as a word of others. */
const WHOLE: ReadonlySet<string> = new Set(['code', 'k', 'key', 'keys'])

/** Keys that open nothing. */
const OPEN_KEYS =
  /^(?:idempotency|primary|foreign|public|sort|partition|routing|cache|object|message|dedupe|deduplication|translation|issue|project)$/

/** Whether a name of a header, a parameter or a member is that of a credential. */
export function isSecretName(name: string): boolean {
  const words = name
    .normalize('NFKC')
    .replaceAll(/([a-z0-9])(?=[A-Z])/g, '$1 ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  const squashed = words.join('')
  if (STEMS.test(squashed) || WHOLE.has(squashed)) return true
  const [last, before] = words.toReversed()
  if (last === 'key' && before !== undefined && !OPEN_KEYS.test(before)) return true
  return words.some((word) => WORDS.has(word))
}
