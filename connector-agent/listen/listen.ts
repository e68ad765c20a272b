import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { Registry } from 'prom-client'

import { givenFor, type Environment } from '../../core/settings/setting-files.ts'
import { readVersion } from '../../core/tracing/version.ts'
import { openAgent } from '../agent.ts'
import type { Connector as Agent } from '../connector.ts'
import { IdentityFile } from '../relay/identity.ts'
import { lockState } from '../relay/state-lock.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { openAgentLog } from '../telling/agent-log.ts'
import { openApi } from './api.ts'
import { findRelay } from './find-relay.ts'
import { openKeys } from './keys.ts'
import { type ListenOptions, nameOf } from './options.ts'
import { agentSettings, reachOf, takeKey } from './own-agent.ts'
import { openConnector, openRoute } from './resources.ts'
import { Screen } from './screen.ts'

/** A server of a developer answers soon, or stands at a breakpoint for longer than anybody waits. */
const DRAIN_MS_MAX = 3_000
const LOOK_MS = 200

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Runs until `stop`. Throws an error that says what to do when it cannot begin. */
export async function listen(
  options: ListenOptions,
  env: Environment,
  stop: AbortController,
): Promise<void> {
  const secret = secretOf(options, env)
  const relay = await findRelay(env, print, stop.signal)
  const name = nameOf(options)
  const dir = env['DATA_DIR']?.trim() || '.postern'
  const settingsFor = (stateDir: string): AgentSettings =>
    agentSettings({ apiUrl: relay.apiUrl, target: options.target, stateDir, env })
  const api = openApi(relay, reachOf(settingsFor(dir)))
  const connector = await openConnector(api, name)
  const stateDir = join(dir, 'listen', connector.id)
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  using _lock = await lockState(
    stateDir,
    `Cannot listen: npm run listen runs for ${options.target.href} already`,
  )
  const source = await openRoute(api, connector.id, { name, options, secret })
  const file = new IdentityFile(stateDir)
  const isNew = await takeKey(api, connector, stateDir)
  // Somebody may have revoked this replica; who starts it again wants it to run.
  if (isNew || file.hasEnded()) file.remove()

  using screen = new Screen({ options, source, api, print })
  const agent = openAgent({
    settings: settingsFor(stateDir),
    file,
    version: readVersion(),
    log: openAgentLog('warn', true),
    registry: new Registry(),
    performed: (done) => screen.show(done),
  })
  using _keys = openKeys(process.stdin, {
    replay: () => void screen.replay(),
    toggleFailures: () => screen.toggleFailures(),
    end: () => stop.abort(),
  })
  void agent.run()
  await watch(agent, screen, stop)
  await agent.stop(DRAIN_MS_MAX)
  if (agent.hasEnded) throw new Error('The relay has ended this connector: start listen once more')
  print('Ended. The next start takes up the same address, and what came meanwhile.')
}

/** Says when the way to the relay is open, is lost and is open again, until the end. */
async function watch(agent: Agent, screen: Screen, stop: AbortController): Promise<void> {
  let isOpen = false
  let hasBeenOpen = false
  while (!stop.signal.aborted && !agent.hasEnded) {
    const isOpenNow = agent.sessions > 0
    if (isOpenNow && !hasBeenOpen) screen.begin()
    else if (isOpenNow !== isOpen) print(isOpenNow ? 'Connected again' : 'Lost the relay')
    isOpen = isOpenNow
    hasBeenOpen ||= isOpen
    await Promise.race([
      sleep(LOOK_MS),
      once(stop.signal, 'abort', { signal: AbortSignal.timeout(LOOK_MS) }).catch(() => undefined),
    ])
  }
}

function secretOf({ secretFile }: ListenOptions, env: Environment): string | undefined {
  const name = 'POSTERN_SOURCE_SECRET'
  const given = givenFor(name, secretFile === undefined ? env : { [`${name}_FILE`]: secretFile })
  if (given.fault === undefined) return given.value
  throw new Error(`Cannot listen: ${given.fault}`)
}
