import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'
import { Registry } from 'prom-client'

import { openAgent } from '../../connector-agent/agent.ts'
import { IdentityFile } from '../../connector-agent/relay/identity.ts'
import { readAgentSettings } from '../../connector-agent/settings/settings.ts'

/*
 * Many agents in one process, which a test kills: `node test/faults/many-agents.ts RELAY_URL DIRECTORY`. Each folder of the
 * directory is the state of one, with the enrolment key in it. Prints how many have a session.
 */

const [relayUrl = '', directory = ''] = process.argv.slice(2)
const agents = readdirSync(directory).map((name) => {
  const stateDir = join(directory, name)
  const args = ['--relay', relayUrl, '--state-dir', stateDir, '--name', name, '--allow', 'a.test']
  const key = join(stateDir, 'key')
  return openAgent({
    settings: readAgentSettings([...args, '--enrollment-key-file', key], {}),
    file: new IdentityFile(stateDir),
    version: '1',
    log: pino({ level: 'silent' }),
    registry: new Registry(),
    performed: () => {},
  })
})
for (const agent of agents) void agent.run()
for (;;) {
  process.stdout.write(`${agents.filter(({ sessions }) => sessions > 0).length}\n`)
  await sleep(200)
}
