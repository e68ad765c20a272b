import { type MemberConfig, type VerifierConfig } from './verifier-config.ts'

/** The secrets of one verifier; `members` are those of an `all_of`, in order, null where a member has none. */
export interface VerifierSecrets {
  current?: string
  members?: (string | null)[]
}

/** The two secrets of a rotation, with those of the members of an `all_of`. */
export interface SecretSlots {
  current: string | undefined
  previous?: string | undefined
  members?: readonly (string | null)[] | undefined
}

/** Takes every secret out of a configuration: what is left may be stored, shown and logged. */
export function splitSecrets(config: VerifierConfig): {
  config: VerifierConfig
  secrets: VerifierSecrets
} {
  if (config.type === 'all_of') {
    const verifiers = config.verifiers.map((member) => withoutSecret(member))
    const members = config.verifiers.map((member) => secretOf(member) ?? null)
    return { config: { ...config, verifiers }, secrets: { members } }
  }
  const current = secretOf(config)
  return { config: withoutSecret(config), secrets: current === undefined ? {} : { current } }
}

/** The inverse of `splitSecrets`. */
export function joinSecrets(config: VerifierConfig, secrets: VerifierSecrets): VerifierConfig {
  if (config.type === 'all_of') {
    const verifiers = config.verifiers.map((member, index) =>
      withSecret(member, secrets.members?.[index] ?? undefined),
    )
    return { ...config, verifiers }
  }
  return withSecret(config, secrets.current)
}

/** Every secret text, for redaction. */
export function secretTexts(secrets: VerifierSecrets): string[] {
  const all = [secrets.current, ...(secrets.members ?? [])]
  return all.filter((secret) => typeof secret === 'string')
}

function secretOf(config: VerifierConfig): string | undefined {
  return 'secret' in config ? config.secret : undefined
}

function withoutSecret<C extends VerifierConfig | MemberConfig>(config: C): C {
  const bare = { ...config }
  Reflect.deleteProperty(bare, 'secret')
  return bare
}

function withSecret<C extends VerifierConfig | MemberConfig>(
  config: C,
  secret: string | undefined,
): C {
  return secret === undefined ? config : { ...config, secret }
}
