/** The members that a preset still needs, in words and as the API takes them. */
const LABELS: Readonly<Record<string, string>> = {
  secret: 'Secret',
  username: 'User name',
  topicArns: 'Topic ARNs, each on a line',
  publicKeys: 'Public keys, each on a line',
  issuer: 'Issuers, each on a line',
  audience: 'Audiences, each on a line',
  'signature.signatureKey': 'Public key of the account',
  'handshake.verifyToken': 'Verify token',
  'params.webhookId': 'Webhook id',
  'keySource.clientId': 'Client id',
  'claims.email': 'Email of the service account',
}

const LISTS = new Set(['topicArns', 'publicKeys', 'issuer', 'audience', 'cidrs'])

export const labelOf = (need: string): string => LABELS[need] ?? need
export const isList = (need: string): boolean => LISTS.has(need)

type Members = Record<string, unknown>

/** `{ preset, secret, signature: { signatureKey } }` out of the fields, and what of them belongs to the source. */
export function membersOf(
  needs: readonly string[],
  values: Readonly<Record<string, string>>,
): { verifier: Members; handshake: Members | undefined } {
  const all: Members = {}
  for (const need of needs) {
    const text = values[need] ?? ''
    // Left out rather than empty: the API then says what is missing, or keeps the stored secret.
    if (text.trim() === '') continue
    put(all, need.split('.'), isList(need) ? linesOf(text) : text)
  }
  const { handshake, ...verifier } = all
  return { verifier, handshake: isMembers(handshake) ? handshake : undefined }
}

export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function put(into: Members, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    into[first] = value
    return
  }
  const inner = isMembers(into[first]) ? into[first] : {}
  into[first] = inner
  put(inner, rest, value)
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
