import * as oidc from 'openid-client'

import { openClock, type Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { PROVIDER_KEPT_MS, PROVIDER_TIMEOUT_MS } from '../../core/limits.ts'
import { isVerifiedBy, readProof } from './claims.ts'

export interface ProviderSettings {
  issuer: string
  clientId: string
  /** Without one PKCE alone binds the code. */
  clientSecret: string | undefined
  /** For people. */
  name: string
  /** Its addresses count as verified, whatever it says of them. */
  trustsEmail: boolean
}

/** Who somebody is, as the provider says. */
export interface Identified {
  issuer: string
  subject: string
  email: string | undefined
  /** Whether the provider, or whoever trusts it, says that the address is theirs. */
  isVerified: boolean
  name: string | undefined
  /** For how long the provider had not asked them to prove it, if it says so. */
  provedAgoSeconds: number | undefined
}

/** Kept by the browser between leaving for the provider and coming back. */
export interface Flow {
  state: string
  nonce: string
  verifier: string
}

/** An OpenID Connect provider that people sign in with, by the code flow with PKCE, state and nonce. */
export class Provider {
  readonly name: string
  readonly #settings: ProviderSettings
  readonly #clock: Clock
  #found: { configuration: Promise<oidc.Configuration>; atMs: number } | undefined

  /** By default the machine's clock, with which openid-client checks times. */
  constructor(settings: ProviderSettings, clock: Clock = openClock()) {
    this.name = settings.name
    this.#clock = clock
    this.#settings = settings
  }

  /** Where to send a browser, and what it must bring back. `again`: the person proves anew who they are. */
  async begin(
    redirectUri: string,
    { again }: { again: boolean },
  ): Promise<{ url: string; flow: Flow }> {
    const configuration = await this.#configuration()
    const flow = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
    }
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
      ...(again ? { prompt: 'login', max_age: '0' } : {}),
    })
    return { url: url.href, flow }
  }

  /** Who came back to this address. Throws when anything of the answer is not as it was begun. */
  async finish(address: URL, { state, nonce, verifier }: Flow): Promise<Identified> {
    const configuration = await this.#configuration()
    const tokens = await oidc.authorizationCodeGrant(configuration, address, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined) throw new Error('The provider sent no ID token')
    const { subject, provedAgoSeconds } = readProof(claims, this.#clock.now())
    const said = await this.#wholeOf(configuration, claims, tokens.access_token)
    const { issuer, trustsEmail } = this.#settings
    return {
      issuer: claims.iss,
      subject,
      email: textOf(said['email']),
      isVerified: trustsEmail || isVerifiedBy(issuer, said['email_verified']),
      name: textOf(said['name']),
      provedAgoSeconds,
    }
  }

  /** Some providers tell the address, or whether it is verified, at their userinfo endpoint alone. */
  async #wholeOf(
    configuration: oidc.Configuration,
    claims: oidc.IDToken,
    accessToken: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    const isWhole = claims['email'] !== undefined && claims['email_verified'] !== undefined
    const { userinfo_endpoint: endpoint } = configuration.serverMetadata()
    if (isWhole || endpoint === undefined) return claims
    return { ...claims, ...(await oidc.fetchUserInfo(configuration, accessToken, claims.sub)) }
  }

  /** The description that the provider gives of itself, asked for at the first sign-in and then now and again. */
  async #configuration(): Promise<oidc.Configuration> {
    const nowMs = performance.now()
    if (this.#found === undefined || nowMs - this.#found.atMs > PROVIDER_KEPT_MS) {
      const found = { configuration: discover(this.#settings), atMs: nowMs }
      this.#found = found
      found.configuration.catch(() => {
        if (this.#found === found) this.#found = undefined
      })
    }
    return await this.#found.configuration
  }
}

/** The provider that the settings name, if any. */
export function openProvider(
  settings: Pick<
    Config,
    'OIDC_ISSUER' | 'OIDC_CLIENT_ID' | 'OIDC_CLIENT_SECRET' | 'OIDC_NAME' | 'OIDC_TRUST_EMAIL'
  >,
): Provider | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_NAME: name } = settings
  if (issuer === undefined || clientId === undefined) return undefined
  const trustsEmail = settings.OIDC_TRUST_EMAIL === 'on'
  const clientSecret = settings.OIDC_CLIENT_SECRET
  return new Provider({ issuer, clientId, clientSecret, name, trustsEmail })
}

function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' ? claim : undefined
}

async function discover(settings: ProviderSettings): Promise<oidc.Configuration> {
  const { issuer, clientId, clientSecret } = settings
  // The settings let a provider without TLS be on this machine alone.
  const isPlain = issuer.startsWith('http:')
  return await oidc.discovery(
    new URL(issuer),
    clientId,
    undefined,
    (server, ...rest) => {
      // A provider that names no way takes the secret in the header. (OpenID Connect Discovery, 3)
      const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      authenticationOf(clientSecret, ways)(server, ...rest)
    },
    {
      // The signature of the ID token is checked, and not where it came from alone.
      execute: [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])],
      timeout: PROVIDER_TIMEOUT_MS / 1_000,
    },
  )
}

function authenticationOf(secret: string | undefined, ways: readonly string[]): oidc.ClientAuth {
  if (secret === undefined) return oidc.None()
  return ways.includes('client_secret_basic')
    ? oidc.ClientSecretBasic(secret)
    : oidc.ClientSecretPost(secret)
}
