import { expect, test } from 'vitest'

import { GUARDED_MEMBERS } from '../../../core/settings/template-members.ts'
import { ConnectorSpec } from '../../kinds/connector.ts'
import { refuseGuarded } from './permitted.ts'

const withTemplate = (template: object) =>
  ConnectorSpec.parse({ relayRef: { name: 'main' }, template })

test.for<[template: object, member: string]>([
  [{ image: 'evil.test/shell' }, 'image'],
  [{ serviceAccountName: 'admin' }, 'serviceAccountName'],
  [{ securityContext: { runAsUser: 0 } }, 'securityContext'],
  [{ labels: { 'azure.workload.identity/use': 'true' } }, 'labels'],
  [{ annotations: { 'vault.hashicorp.com/agent-inject': 'true' } }, 'annotations'],
  [{ priorityClassName: 'system-node-critical' }, 'priorityClassName'],
  [
    { env: [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,1' }] },
    'env.NODE_OPTIONS',
  ],
  [
    { env: [{ name: 'NO_PROXY' }, { name: 'POSTERN_URL', value: 'https://evil.test' }] },
    'env.POSTERN_URL',
  ],
  [
    { env: [{ name: 'POSTERN_ENROLLMENT_KEY_FILE', value: '/etc/postern/tls/tls.key' }] },
    'env.POSTERN_ENROLLMENT_KEY_FILE',
  ],
  [
    { env: [{ name: 'POSTERN_URL', valueFrom: { configMapKeyRef: { name: 'm', key: 'k' } } }] },
    'env.POSTERN_URL',
  ],
  [
    { env: [{ name: 'OTEL_EXPORTER_OTLP_HEADERS_FILE', value: '/etc/postern/tls/tls.key' }] },
    'env.OTEL_EXPORTER_OTLP_HEADERS_FILE',
  ],
])(
  'the template %j is refused by its member %s, unless the installation allows it',
  ([template, member]) => {
    const spec = withTemplate(template)
    expect(() => refuseGuarded(spec, [])).toThrow(`spec.template.${member}: `)
    const others = GUARDED_MEMBERS.filter((name) => name !== member.split('.')[0])
    expect(() => refuseGuarded(spec, others)).toThrow('ALLOWED_TEMPLATE_MEMBERS')
    expect(() => refuseGuarded(spec, GUARDED_MEMBERS)).not.toThrow()
  },
)

test.for<object>([
  {},
  { labels: {}, annotations: {}, env: [] },
  {
    env: [
      { name: 'POSTERN_PROXY', value: 'http://proxy.internal:3128' },
      { name: 'LOG_LEVEL', value: 'debug' },
    ],
  },
  {
    env: [
      {
        name: 'POSTERN_PROXY',
        valueFrom: { secretKeyRef: { name: 'proxy', key: 'url' } },
      },
    ],
  },
  { imagePullPolicy: 'Always', imagePullSecrets: [{ name: 'registry' }] },
  { resources: { limits: { memory: '1Gi' } }, nodeSelector: { zone: 'a' } },
  { tolerations: [{ operator: 'Exists' }], affinity: { nodeAffinity: {} } },
])('the template %j makes nothing but agents', (template) => {
  expect(() => refuseGuarded(withTemplate(template), [])).not.toThrow()
})
