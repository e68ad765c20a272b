import { challengeTest } from './challenges.ts'
import type { SecretSlots } from './config/secrets.ts'
import { VERIFIER_TYPES, VerifierConfig, verifiedWith } from './config/verifier-config.ts'
import { compileEmail } from './email-check.ts'
import {
  type Check,
  ConfigFault,
  type KeyLookup,
  type MemberPath,
  rejected,
  type SignedRequest,
  VALID,
  type Verdict,
} from './request/signed-request.ts'
import { memberOf } from './request/view.ts'
import { compileAdyen } from './schemes/adyen.ts'
import { compileAwsSns } from './schemes/aws-sns.ts'
import { compileHmac } from './schemes/hmac.ts'
import { compileJwt } from './schemes/jwt.ts'
import { compilePublicKey } from './schemes/public-key.ts'
import {
  compileBasicAuth,
  compileIpAllowList,
  compileSharedToken,
} from './schemes/shared-secret.ts'
import { compileStandardWebhooks } from './schemes/standard-webhooks.ts'
import { compileTwilio } from './schemes/twilio.ts'

/** A verifier with everything heavy done: keys imported, secrets decoded, templates parsed. */
export interface CompiledVerifier {
  verifiedWith: string
  /** Why it rejects every request, for whoever configured it; never for the sender. */
  fault: ConfigFault | undefined
  check: Check
}

const NO_KEYS: KeyLookup = () => undefined

/**
 * Compiles a stored configuration with its secrets. Never throws: what cannot be used compiles to a verifier that
 * rejects everything with `verifier_misconfigured` or `unsupported_verifier`.
 */
export function compileVerifier(config: unknown, slots: SecretSlots): CompiledVerifier {
  try {
    const known = readConfig(config)
    return {
      verifiedWith: verifiedWith(known),
      fault: undefined,
      check: refusingChallenges(known, checkOf(known, slots)),
    }
  } catch (error) {
    const fault =
      error instanceof ConfigFault ? error : new ConfigFault('The verifier cannot be compiled')
    const verdict = rejected(fault.reason, textOf(fault))
    return { verifiedWith: nameOf(config), fault, check: () => verdict }
  }
}

/** Pure: the request, the time and the fetched keys are arguments. */
export function verify(
  compiled: CompiledVerifier,
  request: SignedRequest,
  nowMs: number,
  keys: KeyLookup = NO_KEYS,
): Verdict {
  return compiled.check(request, nowMs, keys)
}

/** A body that the answer to a challenge could have signed proves nothing. */
function refusingChallenges(config: VerifierConfig, check: Check): Check {
  const isChallenge = challengeTest(config)
  if (isChallenge === undefined) return check
  return (request, nowMs, keys) => {
    const verdict = check(request, nowMs, keys)
    return verdict.kind === 'valid' && isChallenge(request)
      ? rejected('signature_mismatch')
      : verdict
  }
}

function checkOf(config: VerifierConfig, slots: SecretSlots): Check {
  switch (config.type) {
    case 'none':
      return () => VALID.none
    case 'basic_auth':
      return compileBasicAuth(config, slots)
    case 'shared_token':
      return compileSharedToken(config, slots)
    case 'standard_webhooks':
      return compileStandardWebhooks(config, slots)
    case 'hmac':
      return compileHmac(config, slots)
    case 'public_key':
      return compilePublicKey(config)
    case 'jwt':
      return compileJwt(config, slots)
    case 'ip_allow_list':
      return compileIpAllowList(config)
    case 'twilio':
      return compileTwilio(config, slots)
    case 'adyen':
      return compileAdyen(config, slots)
    case 'aws_sns':
      return compileAwsSns(config)
    case 'email':
      return compileEmail(config)
    case 'all_of':
      return allOf(
        config.verifiers.map((member, index) =>
          within(['verifiers', index], () =>
            checkOf(member, { current: slots.members?.[index] ?? undefined }),
          ),
        ),
      )
  }
}

/** Compiles a member: its faults have the path of the whole. */
function within(path: MemberPath, compile: () => Check): Check {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error
    throw new ConfigFault(error.message, [...path, ...error.path], error.reason)
  }
}

/** The first failure wins; a key is fetched only for a member that all before it let pass. */
function allOf(checks: readonly Check[]): Check {
  return (request, nowMs, keys) => {
    let valid: Extract<Verdict, { kind: 'valid' }> = { kind: 'valid', slot: null }
    for (const check of checks) {
      const verdict = check(request, nowMs, keys)
      if (verdict.kind !== 'valid') return verdict
      valid = { ...valid, ...verdict, slot: verdict.slot ?? valid.slot }
    }
    return valid
  }
}

/** A type, algorithm or key source that is not in the schema comes from a newer version or from another hand. */
function readConfig(config: unknown): VerifierConfig {
  const type = memberOf(config, 'type')
  if (typeof type !== 'string' || !VERIFIER_TYPES.has(type)) {
    throw new ConfigFault('The verifier type is not implemented', ['type'], 'unsupported_verifier')
  }
  const parsed = VerifierConfig.safeParse(config)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = issue?.path.join('.') ?? ''
  const isUnknownKind =
    UNKNOWN_KINDS.test(path) && memberOf(config, path.split('.')[0] ?? '') !== undefined
  throw new ConfigFault(
    issue?.message ?? 'Invalid',
    issue?.path.map((key) => (typeof key === 'symbol' ? String(key) : key)),
    isUnknownKind ? 'unsupported_verifier' : 'verifier_misconfigured',
  )
}

const UNKNOWN_KINDS = /^(?:algorithm|algorithms\.\d+|keySource\.kind|verifiers\.\d+\.type)$/

function textOf({ path, message }: ConfigFault): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

function nameOf(config: unknown): string {
  const name = memberOf(config, 'preset') ?? memberOf(config, 'type')
  return typeof name === 'string' ? name : 'none'
}
