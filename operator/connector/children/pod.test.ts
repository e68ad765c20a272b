import { expect, test } from 'vitest'

import { ConnectorSpec } from '../../kinds/connector.ts'
import { podSpec } from './pod.ts'

test('an agent serves its health at the address of its pod, which may be one of IPv6', () => {
  const metadata = { namespace: 'shop', name: 'payroll', uid: 'u' }
  const spec = ConnectorSpec.parse({ relayRef: { name: 'main' } })
  const surroundings = { image: 'postern', baseUrl: 'https://relay.test', hasCa: false }
  expect(podSpec({ metadata }, spec, surroundings)).toMatchObject({
    containers: [
      {
        env: expect.arrayContaining([
          {
            name: 'HOST',
            valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } },
          },
        ]),
      },
    ],
  })
})
