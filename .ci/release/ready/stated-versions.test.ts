import { expect, test } from 'vitest'

import { otherVersions, versionsIn } from './stated-versions.ts'

test('a chart states its own version, that of the application and those of its charts', () => {
  const chart = `
name: postern
version: 1.2.3
appVersion: 1.2.4
dependencies: [{ name: postern-connector, alias: operator, version: 1.2.5 }]`
  expect(versionsIn('charts/postern/Chart.yaml', chart)).toEqual([
    { place: 'charts/postern/Chart.yaml version', version: '1.2.3' },
    { place: 'charts/postern/Chart.yaml appVersion', version: '1.2.4' },
    { place: 'charts/postern/Chart.yaml postern-connector', version: '1.2.5' },
  ])
})

test('a package and an OpenAPI document state one', () => {
  expect(versionsIn('package-lock.json', '{"version":"1.2.3"}')).toEqual([
    { place: 'package-lock.json', version: '1.2.3' },
  ])
  expect(versionsIn('openapi.json', '{"info":{"version":"1.2.3"}}')).toEqual([
    { place: 'openapi.json info.version', version: '1.2.3' },
  ])
})

test.for([
  ['image: postern:1.2.3', ['1.2.3']],
  ['image: registry.example.com/postern:1.2.3-rc.1 and postern:1.2.4', ['1.2.3-rc.1', '1.2.4']],
  ['image: ${IMAGE:-postern:1.2.3}', ['1.2.3']],
  ['postern:dev, postern:${VERSION}, other-postern 1.2.3', []],
] as const)('%s states %j', ([text, expected]) => {
  expect(versionsIn('compose.yaml', text).map(({ version }) => version)).toEqual(expected)
})

test('each place that names another version is told with both', () => {
  const stated = [
    { place: 'a', version: '1.2.3' },
    { place: 'b', version: '1.2.4' },
  ]
  expect(otherVersions('1.2.3', stated)).toEqual(['b says 1.2.4, package.json 1.2.3'])
  expect(otherVersions('1.2.3', stated.slice(0, 1))).toEqual([])
})
