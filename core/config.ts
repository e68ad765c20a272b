import { hostname } from 'node:os'

import { z } from 'zod'

import { CONNECTIONS_PER_SOURCE } from './limits.ts'
import { plansFaults } from './plans/plans-file.ts'
import type { CertificateFiles } from './settings/certificate.ts'
import {
  incomingMailFaults,
  mailCertificateFaults,
  outgoingMailFaults,
  providerFaults,
  samePorts,
  spoolFaults,
  withoutOriginFaults,
  type PortName,
} from './settings/faults-between.ts'
import { clockFile, program, readableFile } from './settings/file-kinds.ts'
import { natsFileFaults, natsFileSettings } from './settings/nats-files.ts'
import { givenFor, type Environment, type Given } from './settings/setting-files.ts'
import {
  allowRules,
  cidrs,
  domains,
  encryptionKey,
  host,
  kubernetesName,
  kubernetesNames,
  mailDomain,
  mailSender,
  matching,
  namesOf,
  oneOf,
  plainText,
  port,
  whole,
} from './settings/setting-kinds.ts'
import { GUARDED_MEMBERS } from './settings/template-members.ts'
import { TRACE_SECRET_NAMES, traceSettings } from './settings/trace-settings.ts'
import {
  databaseUrl,
  gatewayOrigin,
  issuer,
  natsUrl,
  origin,
  smtpUrl,
  withoutSecrets,
} from './settings/url-kinds.ts'

/** A lease's holder is the name of the machine with the data directory and the role behind it. */
const INSTANCE_NAME_MAX = 100
const PATH_MAX = 4_096
const IMAGE_LENGTH_MAX = 500
const CLIENT_LENGTH_MAX = 1_000
const OIDC_NAME_MAX = 60
const GATEWAY_PORT_DEFAULT = 8082

/** The port of a role by itself. The roles of `npm start` have it and the next ones. */
export const OPS_PORT = 9_090

/** Every setting of every role. A name with `_FILE` behind it names a file that holds the value. */
const Settings = z.object({
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL_MAX: whole(1, 100).default(10),
  NATS_URL: natsUrl.optional(),
  /** A NATS server of its own for the spool, with `sync_interval: always` or as durable by other means. */
  SPOOL_NATS_URL: natsUrl.optional(),
  /** Copies of the spool: on the servers of NATS_URL where it has none of its own. */
  SPOOL_REPLICAS: whole(3, 5).optional(),
  SPOOL_MAX_MB: whole(1, 1_048_576).default(1_024),
  /** Base64 of 32 bytes, or a comma-separated list of `id:base64`: the first encrypts, all decrypt. */
  POSTERN_ENCRYPTION_KEY: encryptionKey.optional(),
  DATA_DIR: plainText(PATH_MAX).default('.postern'),
  /** The address that every port listens on. */
  HOST: host.default('127.0.0.1'),
  API_PORT: port.default(8080),
  INGEST_PORT: port.default(8081),
  GATEWAY_PORT: port.optional(),
  /** Where ingest takes mail; without it there is none. */
  SMTP_PORT: port.optional(),
  /** Addresses of email sources end in it. */
  SMTP_DOMAIN: mailDomain.optional(),
  /** The certificate and its key, in PEM, for STARTTLS. */
  SMTP_TLS_CERT_FILE: readableFile.optional(),
  SMTP_TLS_KEY_FILE: readableFile.optional(),
  /** Where a role serves /livez, /readyz and /metrics; on the address of HOST unless it has its own. */
  OPS_PORT: port.optional(),
  OPS_HOST: host.optional(),
  API_URL: origin.optional(),
  INGEST_URL: origin.optional(),
  /** Where the API reaches ingest, if not at INGEST_URL. */
  INGEST_SERVICE_URL: origin.optional(),
  GATEWAY_URL: gatewayOrigin.optional(),
  /** CIDRs whose X-Forwarded-For is believed. */
  TRUSTED_PROXIES: cidrs({ everything: false }).default([]),
  /** Connections of one address, of ingest and of the API each; proxies that are trusted have no such limit. */
  CONNECTIONS_PER_ADDRESS: whole(1, 1_000_000).default(1_000),
  /** CIDRs that deliveries may reach although they are private. */
  DELIVERY_ALLOW_CIDRS: cidrs({ everything: true }).optional(),
  DEFAULT_PLAN: oneOf(['hobby', 'launch', 'scale', 'enterprise']).default('enterprise'),
  /** A JSON file of what plans grant here, where that differs from the built-in plans. */
  PLANS_FILE: plainText(PATH_MAX)
    .check(({ value, issues }) => {
      for (const message of plansFaults(value)) {
        issues.push({ code: 'custom', message, input: value })
      }
    })
    .optional(),
  KEY_PREFIX: matching(
    /^[a-z][a-z0-9]{1,15}$/,
    'must be 2 to 16 lower-case letters and digits, a letter first',
  ).default('pst'),
  API_REQUESTS_PER_MINUTE: whole(1, 1_000_000).default(600),
  /** Whether anybody may make an account and an organisation, or only whoever is invited. */
  SIGNUP: oneOf(['invitation', 'open']).default('invitation'),
  /** Requests of an address to `/auth`: attempts to sign in, and all other requests. */
  SIGN_INS_PER_MINUTE: whole(1, 1_000_000).default(10),
  AUTH_CALLS_PER_MINUTE: whole(1, 1_000_000).default(60),
  /** Organisations that an address may make in a day where anybody may sign up; its network may make four times as many. */
  SIGN_UPS_PER_DAY: whole(1, 100_000).default(5),
  /** Whether organisations change their plans themselves. */
  SELF_SERVICE_PLANS: oneOf(['on', 'off']).default('on'),
  /** The server that mail is sent through, and whom it is from. */
  SMTP_URL: smtpUrl.optional(),
  MAIL_FROM: mailSender.optional(),
  /** The OpenID Connect provider that people sign in with, and its name for people. */
  OIDC_ISSUER: issuer.optional(),
  OIDC_CLIENT_ID: plainText(CLIENT_LENGTH_MAX).optional(),
  OIDC_CLIENT_SECRET: plainText(CLIENT_LENGTH_MAX).optional(),
  OIDC_NAME: plainText(OIDC_NAME_MAX).default('single sign-on'),
  /** Whether addresses count as verified although the provider does not say that they are. */
  OIDC_TRUST_EMAIL: oneOf(['on', 'off']).default('off'),
  /** Domains whose people need no invitation, and what they are then. */
  OIDC_ALLOWED_DOMAINS: domains.default([]),
  OIDC_DEFAULT_ROLE: oneOf(['member', 'admin']).default('member'),
  /** Whether a password signs anybody in. */
  AUTH_PASSWORDS: oneOf(['on', 'off']).default('on'),
  CONNECTIONS_PER_SOURCE: whole(1, 1_000_000).default(CONNECTIONS_PER_SOURCE),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** The name under which a role holds leases; a restarted one takes its own back at once. */
  INSTANCE_NAME: plainText(INSTANCE_NAME_MAX).default(hostname()),
  /** A file with milliseconds to add to the clock, for tests. */
  TEST_CLOCK_FILE: clockFile.optional(),
  /** The role operator: how it reaches Kubernetes, where its Lease lies, and the namespaces that it looks after. */
  KUBECONFIG: plainText(PATH_MAX).optional(),
  POD_NAMESPACE: kubernetesName.optional(),
  WATCH_NAMESPACES: kubernetesNames.default([]),
  /** Addresses that a Relay may name; any but this machine's, link-local ones and the API server when empty. */
  ALLOWED_RELAYS: allowRules.default([]),
  /** Members of a Connector's template by which a pod can be more than an agent. */
  ALLOWED_TEMPLATE_MEMBERS: namesOf(GUARDED_MEMBERS).default([]),
  LEASE_NAME: kubernetesName.default('postern-operator'),
  /** Tells this cluster from others that use the same relay. */
  CLUSTER_ID: kubernetesName.optional(),
  /** The image of agents. */
  CONNECTOR_IMAGE: plainText(IMAGE_LENGTH_MAX).optional(),
  RELAY_POLL_SECONDS: whole(1, 60).default(10),
  /** A nats-server to run instead of the one that `npm start` finds. */
  NATS_SERVER_BIN: program.optional(),
  ...natsFileSettings,
  ...traceSettings,
})

export type Settings = z.infer<typeof Settings>

/** The faults of the settings, one line each, without secrets. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(['Cannot start, for these settings are wrong:', ...faults].join('\n  '))
    this.faults = faults
  }
}

/**
 * The settings of `npm start`, which brings its own database, stream and key. Throws one error naming every fault, those
 * among them that `look` finds.
 */
export function readSettings(
  env: Environment,
  look: (values: Values) => string[] = () => [],
): Settings {
  return read(Settings, env, (values) => [
    ...look(values),
    ...spoolFaults(values),
    ...natsFileFaults(values, (name) => isGiven(env, name)),
    ...outgoingMailFaults(values),
    ...mailCertificateFaults(values),
    ...providerFaults(values),
    ...samePorts(values, 'API_PORT', 'INGEST_PORT'),
    ...samePorts(withGatewayPort(values), 'API_PORT', 'GATEWAY_PORT'),
    ...samePorts(withGatewayPort(values), 'INGEST_PORT', 'GATEWAY_PORT'),
    ...(['API_PORT', 'INGEST_PORT', 'GATEWAY_PORT'] as const).flatMap((name) =>
      samePorts(withGatewayPort(values), name, 'SMTP_PORT'),
    ),
    ...(values.SPOOL_REPLICAS !== undefined && !isGiven(env, 'NATS_URL', 'SPOOL_NATS_URL')
      ? [
          'SPOOL_REPLICAS: the NATS that npm start brings is one server. Set NATS_URL or SPOOL_NATS_URL to a cluster, or leave it out',
        ]
      : []),
  ])
}

const Role = Settings.extend({
  HOST: host.default('0.0.0.0'),
  DELIVERY_ALLOW_CIDRS: cidrs({ everything: true }).default([]),
  OPS_PORT: port.default(OPS_PORT),
}).required({
  DATABASE_URL: true,
  NATS_URL: true,
  POSTERN_ENCRYPTION_KEY: true,
})

export type Config = z.infer<typeof Role>

/** The port of a role that serves others than whoever operates it. */
export type OwnPort = Exclude<PortName, 'OPS_PORT' | 'SMTP_PORT'>

/** The settings of one role, which needs all three services. Throws one error naming every fault. */
export function readConfig(env: Environment, ownPort?: OwnPort): Config {
  return read(Role, env, (values) => [
    ...spoolFaults(values),
    ...natsFileFaults(values, (name) => isGiven(env, name)),
    ...outgoingMailFaults(values),
    ...(ownPort === 'INGEST_PORT' ? incomingMailFaults({ OPS_PORT, ...values }) : []),
    ...providerFaults(values),
    ...withoutOriginFaults(values),
    ...(ownPort === undefined
      ? []
      : samePorts({ OPS_PORT, ...withGatewayPort(values) }, ownPort, 'OPS_PORT')),
  ])
}

/** The origin of the API and the dashboard. */
export function apiUrlOf({ API_URL, API_PORT }: Pick<Settings, 'API_URL' | 'API_PORT'>): string {
  return API_URL ?? `http://127.0.0.1:${API_PORT}`
}

/** The origin of ingest: the one that the API shows and the one that signatures over the URL are checked against. */
export function ingestUrlOf({
  INGEST_URL,
  INGEST_PORT,
}: Pick<Settings, 'INGEST_URL' | 'INGEST_PORT'>): string {
  return INGEST_URL ?? `http://127.0.0.1:${INGEST_PORT}`
}

/** Where the API sends samples to: ingest as it is reached from inside. */
export function ingestServiceUrlOf(
  settings: Pick<Settings, 'INGEST_SERVICE_URL' | 'INGEST_URL' | 'INGEST_PORT'>,
): string {
  return settings.INGEST_SERVICE_URL ?? ingestUrlOf(settings)
}

/** How ingest takes mail; undefined: it takes none. */
export function mailSettingsOf({
  SMTP_PORT,
  SMTP_DOMAIN,
  SMTP_TLS_CERT_FILE: cert,
  SMTP_TLS_KEY_FILE: key,
}: Values): { domain: string; certificate: CertificateFiles | undefined } | undefined {
  if (SMTP_PORT === undefined || SMTP_DOMAIN === undefined) return undefined
  const certificate = cert === undefined || key === undefined ? undefined : { cert, key }
  return { domain: SMTP_DOMAIN, certificate }
}

/** Where agents dial. Left out, it is a free port like that of the API: a second relay on a machine takes none of the first. */
export function gatewayPortOf({
  GATEWAY_PORT,
  API_PORT,
}: Pick<Values, 'GATEWAY_PORT' | 'API_PORT'>): number {
  return GATEWAY_PORT ?? (API_PORT === 0 ? 0 : GATEWAY_PORT_DEFAULT)
}

function withGatewayPort(values: Values): Values {
  return { ...values, GATEWAY_PORT: gatewayPortOf(values) }
}

const OperatorRole = Settings.extend({
  HOST: host.default('0.0.0.0'),
  OPS_PORT: port.default(OPS_PORT),
}).required({
  POD_NAMESPACE: true,
  CONNECTOR_IMAGE: true,
})

export type OperatorConfig = z.infer<typeof OperatorRole>

/** Settings of the operator, which has neither a database nor NATS nor a key. */
export function readOperatorConfig(env: Environment): OperatorConfig {
  return read(OperatorRole, env, () => [])
}

/** Where a role serves its health and metrics. */
export function opsOf({
  HOST,
  OPS_HOST,
  OPS_PORT: opsPort,
}: Pick<Config, 'HOST' | 'OPS_HOST' | 'OPS_PORT'>): { host: string; port: number } {
  return { host: OPS_HOST ?? HOST, port: opsPort }
}

/** Settings of `migrate`, which needs the database alone. */
export function readMigrateConfig(env: Environment): Settings & { DATABASE_URL: string } {
  return read(Settings.required({ DATABASE_URL: true }), env, () => [])
}

/** Settings of `admin`, which needs none if it finds an installation in DATA_DIR. */
export function readAdminSettings(env: Environment): Settings {
  return read(Settings, env, () => [])
}

/** The names of all settings, for the documents that must list them. */
export const SETTING_NAMES: readonly string[] = Object.keys(Settings.shape)

type Values = { [Name in keyof Settings]?: Settings[Name] | undefined }

function read<T>(
  schema: z.ZodType<T>,
  env: Environment,
  faultsBetween: (values: Values) => string[],
): T {
  const given = new Map(SETTING_NAMES.map((name) => [name, givenFor(name, env)]))
  const texts = textsOf(given)
  const parsed = schema.safeParse(texts)
  const issues = (parsed.error?.issues ?? []).filter(
    ({ path }) => given.get(String(path[0]))?.fault === undefined,
  )
  const wrong = new Set(issues.map(({ path }) => String(path[0])))
  const right = Object.entries(texts).filter(([name]) => !wrong.has(name))
  const faults = [
    ...[...given.values()].flatMap(({ fault }) => fault ?? []),
    ...issues.map((issue) => faultOf(issue, given)),
    ...faultsBetween(Settings.partial().parse(Object.fromEntries(right))),
  ]
  if (faults.length > 0 || !parsed.success) throw new SettingsError(faults)
  return parsed.data
}

function textsOf(given: ReadonlyMap<string, Given>): Record<string, string | undefined> {
  return Object.fromEntries([...given].map(([name, { value }]) => [name, value]))
}

const EXAMPLES: Record<string, string> = {
  DATABASE_URL: 'postgres://user:password@host/database',
  NATS_URL: 'nats://user:password@host:4222',
  POD_NAMESPACE: 'the namespace that the operator runs in',
  CONNECTOR_IMAGE: 'the image of the agents, such as registry.example.com/postern:0.1.0',
  POSTERN_ENCRYPTION_KEY: 'base64 of 32 random bytes, as `openssl rand -base64 32` makes them',
}

const UNSHOWN = new Set([
  'POSTERN_ENCRYPTION_KEY',
  'TRUSTED_PROXIES',
  'DELIVERY_ALLOW_CIDRS',
  'ALLOWED_RELAYS',
  'ALLOWED_TEMPLATE_MEMBERS',
  'OIDC_ALLOWED_DOMAINS',
  'OIDC_CLIENT_SECRET',
  ...TRACE_SECRET_NAMES,
])
const URLS = /_(?:URL|ENDPOINT|ISSUER)$/
const SHOWN_MAX = 100

function faultOf({ path, message }: z.core.$ZodIssue, given: ReadonlyMap<string, Given>): string {
  const name = String(path[0])
  const { value, file } = given.get(name) ?? {}
  if (value === undefined) return `${name}: is missing. Set it to ${EXAMPLES[name]}`
  const from = file === undefined ? '' : ` (from ${name}_FILE ${JSON.stringify(file)})`
  return `${name}${shown(name, value)}${from}: ${message}`
}

/** The value, unless it may be secret; the faults of a list name the items themselves. */
function shown(name: string, value: string): string {
  if (UNSHOWN.has(name)) return ''
  const text = URLS.test(name) ? withoutSecrets(value) : value
  if (text === undefined) return ''
  return ` ${JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text)}`
}

function isGiven(env: Environment, ...names: string[]): boolean {
  return names.some((name) => Boolean(env[name]?.trim() || env[`${name}_FILE`]?.trim()))
}
