import { expect, test } from 'vitest'

import { misspeltSettings } from './setting-names.ts'

test.for([
  ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
  ['TRUSTED_PROXYS', 'TRUSTED_PROXIES'],
  ['DELIVERY_ALLOW_CIDR', 'DELIVERY_ALLOW_CIDRS'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['DATABASE_URI_FILE', undefined],
  ['Log_Level', 'LOG_LEVEL'],
  ['OTEL_EXPORTER_OTLP_ENDPOINTS', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  ['OTEL_TRACE_SAMPLER', 'OTEL_TRACES_SAMPLER'],
  ['POSTERN_API_PORT', 'API_PORT'],
  ['POSTERN_ENCRYPTION_KEYS', 'POSTERN_ENCRYPTION_KEY'],
] as const)('%s is taken for %s', ([name, setting]) => {
  const lines = misspeltSettings({ [name]: 'x' })
  expect(lines).toEqual(
    setting === undefined ? [] : [`${name} is no setting and is not read: is it ${setting}?`],
  )
})

test('a variable of ours that nothing reads is named', () => {
  expect(misspeltSettings({ POSTERN_SPEED: '1' })).toEqual([
    'POSTERN_SPEED is no setting and is not read',
  ])
})

test('variables of shells, Node, Kubernetes and other signals are no misspelt settings', () => {
  const names = [
    'PATH',
    'APP_PORT',
    'APP_URL',
    'API_KEY',
    'HOME',
    'HOSTNAME',
    'HOSTTYPE',
    'LANG',
    'SHELL',
    'PGHOST',
    'NODE_OPTIONS',
    'npm_config_cache',
    'DATABASE_URL',
    'DATABASE_URL_FILE',
    'POSTERN_ENCRYPTION_KEY_FILE',
    'POSTERN_SERVICE_HOST',
    'POSTERN_SERVICE_PORT_HTTP',
    'POSTERN_PORT',
    'POSTERN_PORT_8080_TCP_ADDR',
    'KUBERNETES_PORT',
    'OTEL_BLRP_SCHEDULE_DELAY',
    'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT',
    'OTEL_LOGS_EXPORTER',
  ]
  expect(misspeltSettings(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([])
})
