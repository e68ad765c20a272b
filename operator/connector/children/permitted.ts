import { readAllowRules } from '../../../core/egress/allow-list.ts'
import { GUARDED_MEMBERS, type GuardedMember } from '../../../core/settings/template-members.ts'
import { TRACE_SETTING_NAMES } from '../../../core/settings/trace-settings.ts'
import type { ConnectorSpec } from '../../kinds/connector.ts'
import { Halt } from '../../relay/problem.ts'
import type { KubeObject } from '../../runtime/kube/object.ts'
import type { SecretReader } from '../../world/secret-reader.ts'

/** Variables that say nothing of where the agent connects to, which files it reads or which code it runs. */
const FREE_VARIABLES: ReadonlySet<string> = new Set([
  'LOG_LEVEL',
  'NO_PROXY',
  'POSTERN_PROXY',
  'TZ',
  ...TRACE_SETTING_NAMES,
])

/** The Secret may come, or get its label: its Connector is looked at when it does. */
const WAIT = { againMs: 60_000 }

/** Throws a Halt for a template that makes more than an agent of its pods. */
export function refuseGuarded(
  { template }: ConnectorSpec,
  allowed: readonly GuardedMember[],
): void {
  const refused = GUARDED_MEMBERS.find(
    (name) => !allowed.includes(name) && isGuarded(template, name),
  )
  if (refused === undefined) return
  const variable = refused === 'env' ? `.${guardedVariable(template) ?? ''}` : ''
  throw new Halt(
    'TemplateNotAllowed',
    `spec.template.${refused}${variable}: this installation does not allow it. Leave it out, or add "${refused}" to operator.allowedTemplateMembers (ALLOWED_TEMPLATE_MEMBERS)`,
  )
}

type Template = ConnectorSpec['template']

function isGuarded(template: Template, name: GuardedMember): boolean {
  const value = template?.[name]
  if (name === 'env') return guardedVariable(template) !== undefined
  // An empty map changes nothing.
  return typeof value === 'object' ? Object.keys(value).length > 0 : value !== undefined
}

function guardedVariable(template: Template): string | undefined {
  return template?.env?.find(({ name }) => !FREE_VARIABLES.has(name))?.name
}

/** Throws a Halt for addresses that an agent could not read: it would not start. */
export function refuseUnreadable({ allow }: ConnectorSpec): void {
  const [fault] = readAllowRules(JSON.stringify(allow)).faults
  if (fault !== undefined) throw new Halt('AllowInvalid', `spec.allow: ${fault}`)
}

/** Throws a Halt for a Secret that its pods would mount and that is not meant for a Connector. */
export function refuseSecrets(
  secrets: SecretReader,
  { metadata }: KubeObject,
  spec: ConnectorSpec,
): void {
  const { namespace = '' } = metadata
  const { tls, template } = spec
  const variables = (template?.env ?? []).map(
    ({ name, valueFrom }) =>
      [`template.env.${name}.valueFrom.secretKeyRef`, valueFrom?.secretKeyRef] as const,
  )
  for (const [member, ref] of [
    ['tls.caSecretRef', tls?.caSecretRef] as const,
    ['tls.clientCertificateSecretRef', tls?.clientCertificateSecretRef] as const,
    ...variables,
  ]) {
    if (ref === undefined) continue
    const { name } = ref
    const place = { namespace, name, member: `spec.${member}`, use: 'connector' as const }
    const message = secrets.unusable(place)
    if (message !== undefined) throw new Halt('SecretNotFound', message, WAIT)
  }
}
