import type { Readable } from 'node:stream'

import type { Registry } from 'prom-client'

import type { Clock } from '../core/clock.ts'
import type { Ledger } from '../core/db/billing/ledger.ts'
import type { OrganisationShares } from '../core/db/configuration/organisation-shares.ts'
import type { Db } from '../core/db/connection/db.ts'
import type { Egress } from '../core/egress/egress.ts'
import type { Logger } from '../core/log.ts'
import type { NatsConnection } from '../core/nats.ts'
import type { PerSecondLimit } from '../core/pacing/per-second-limit.ts'
import type { PlanName, Plans } from '../core/plans/plans.ts'
import type { Keyring } from '../core/secrets/sealed.ts'
import type { KeyStore } from '../core/verify/keys.ts'
import type { CallerLimits } from './auth/caller-limits.ts'
import type { Principal } from './auth/principal.ts'
import type { BuiltFiles } from './dashboard/built-files.ts'
import type { LargeAnswers } from './large-answers.ts'
import type { Post } from './mail/post.ts'
import type { SharedReads } from './shared-reads.ts'
import type { Provider } from './sign-on/provider.ts'
import type { Site } from './site/site.ts'

/** Signature tests that one source may have. (decisions: Rotation, keys, roles; test-signature) */
export const SIGNATURE_TESTS_PER_SECOND = 5

/** Everything the management API touches outside itself. Built once in main.ts and once per test. */
export interface Deps {
  db: Db
  /** Connections that read along one index, whatever is known of its table: for lists and counts. */
  lists: Db
  /** The share that an organisation counts in. */
  shares: OrganisationShares
  /** Searches, counts and statistics. */
  reads: SharedReads
  largeAnswers: LargeAnswers
  nats: NatsConnection
  clock: Clock
  keyring: Keyring
  log: Logger
  registry: Registry
  keyPrefix: string
  /** Public origin of ingest, without a slash at its end. */
  ingestUrl: string
  /** Origin at which the API itself reaches ingest. */
  ingestServiceUrl: string
  /** The domain of the addresses of email sources; undefined: ingest takes no mail. */
  mailDomain: string | undefined
  requestsPerMinute: number
  connectionsPerSource: number
  plans: Plans
  ledger: Ledger
  /** Which addresses a destination may have, and the way to the keys of verifiers. */
  egress: Egress
  keys: KeyStore
  signatureTests: PerSecondLimit
  eventStreams: EventStreams
  /** CIDRs and addresses whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[]
  /** Where agents dial; undefined: the deployment has no private delivery. */
  gatewayUrl: string | undefined
  callers: CallerLimits
  /** Undefined: it is not built, and only programs are served. */
  dashboard: BuiltFiles | undefined
  /** The documentation site; without it `/docs` is the reference alone. */
  site?: Site | undefined
  accounts: AccountSettings
  /** Sends the letters of accounts; undefined: the installation sends no mail. */
  post: Post | undefined
  /** Whom people sign in with beside, or in place of, a password. */
  provider: Provider | undefined
}

/** How people come to the dashboard. */
interface AccountSettings {
  /** Origin under which browsers find the API; undefined: as each request names it. */
  apiUrl: string | undefined
  /** Whether anybody may sign up, or only whoever is invited. */
  signUp: 'open' | 'invitation'
  /** The plan of an organisation that is made for somebody who comes. */
  defaultPlan: PlanName
  /** Whether people sign in with a password. */
  hasPasswords: boolean
  /** Domains whose people may come with the provider without being invited, and their role. */
  allowedDomains: readonly string[]
  defaultRole: 'admin' | 'member'
  /** For each address. */
  signInsPerMinute: number
  /** Requests to `/auth` other than these, for each address. */
  requestsPerMinute: number
  /** Organisations that an address makes by signing up. */
  signUpsPerDay: number
  /** Whether organisations change their plans themselves. */
  hasSelfServicePlans: boolean
}

/** The event streams of one process. */
export interface EventStreams {
  /** The body of the answer. Refuses a position that is none, and one stream too many. */
  open(request: StreamRequest): Promise<Readable>
  /** Ends all of them: their clients connect again, to another process. */
  close(): void
}

export interface StreamRequest {
  principal: Principal
  projectId: string
  filter: StreamFilter
  /** The filter as the client wrote it. */
  written: readonly (string | null)[]
  lastEventId: string | undefined
}

/** Which events of the project a stream shows. */
export interface StreamFilter {
  sourceId: string | undefined
  status: string | undefined
  eventType: ((eventType: string | null) => boolean) | undefined
}
