import { expect, test } from 'vitest'
import { parse } from 'yaml'

import { commandOf, WAYS } from './ways.ts'

const connector = { id: 'cnr_1', projectId: 'prj_1', name: "Ada's Office!" }
const start = { relay: 'https://relay.example.com', key: 'pst_a', connector }

test.for(WAYS.filter((way) => way !== 'Connector resource'))(
  '%s: whatever is allowed is a single word to the shell',
  (way) => {
    const command = commandOf(way, { ...start, allow: "http://it's.internal:8080; reboot" })
    const word = String.raw`http://it'\''s.internal:8080; reboot`
    expect(command).toContain(way === 'Helm' ? `'agent.allow={${word}}'` : `--allow '${word}'`)
    expect(command).toContain(`'https://relay.example.com'`)
    expect(command).not.toContain('--allow-loopback')
  },
)

test('this machine is opened only when it is asked for', () => {
  for (const allow of ['http://localhost:3000', '127.0.0.1', 'http://[::1]:80']) {
    expect(commandOf('Node', { ...start, allow })).toContain('--allow-loopback')
    expect(commandOf('Container', { ...start, allow })).toContain('--network host')
  }
})

test('names become names that Kubernetes and Docker take', () => {
  expect(commandOf('Container', { ...start, allow: 'a.internal' })).toContain('--name ada-s-office')
  const blank = { ...connector, name: '!!' }
  expect(commandOf('Container', { ...start, connector: blank, allow: 'a' })).toContain(
    '--name connector',
  )
})

test.for([
  ['http://a.internal:8080', { hosts: ['a.internal'], ports: [8080], schemes: ['http'] }],
  ['*.internal', { hosts: ['*.internal'] }],
  ['a.internal:8080', { hosts: ['a.internal'], ports: [8080] }],
  ["it's: [odd]", { hosts: ["it's"] }],
] as const)('the resource for %s says what may be reached', ([allow, rule]) => {
  const command = commandOf('Connector resource', { ...start, allow })
  const text = /<<'END'\n([^]*)\nEND$/.exec(command)?.[1] ?? ''
  expect(parse(text)).toMatchObject({
    kind: 'Connector',
    metadata: { name: 'ada-s-office' },
    spec: { connectorId: 'cnr_1', projectId: 'prj_1', allow: [rule] },
  })
})
