#!/usr/bin/env node
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

import { openClock } from '../core/clock.ts'
import { openRegistry } from '../core/metrics/instruments.ts'
import { openOps } from '../core/ops.ts'
import { plainText } from '../core/this-machine/plain-text.ts'
import { openTracing } from '../core/tracing/open-tracing.ts'
import { readVersion } from '../core/tracing/version.ts'
import { openAgent } from './agent.ts'
import { IdentityFile } from './relay/identity.ts'
import { lockState } from './relay/state-lock.ts'
import type { Performed } from './requests/perform.ts'
import { type AgentSettings, readAgentSettings, wantsHelp } from './settings/settings.ts'
import { USAGE } from './settings/usage.ts'
import { logRequest, openAgentLog } from './telling/agent-log.ts'

/** Longer than any attempt may take. */
const DRAIN_MS_MAX = 65_000

const stop = new AbortController()
// A second signal does not wait for what is in flight.
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => (stop.signal.aborted ? process.exit(1) : stop.abort()))
}
// Whoever read our output may go away.
process.stdout.on('error', () => {})

const args = process.argv.slice(2)
if (wantsHelp(args)) {
  process.stdout.write(USAGE)
} else {
  try {
    await run(readAgentSettings(args, process.env))
    // Whatever is under way still, a look for a gateway perhaps, is nobody's.
    process.exit(0)
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    process.stderr.write(`${plainText(words, { keepsLines: true })}\n`)
    process.exitCode = 1
  }
}

async function run(settings: AgentSettings): Promise<void> {
  const log = openAgentLog(settings.LOG_LEVEL, process.stdout.isTTY)
  const file = new IdentityFile(settings.STATE_DIR)
  using _lock = await lockState(
    settings.STATE_DIR,
    `Cannot start: another agent uses the directory ${settings.STATE_DIR}. Give this one its own with --state-dir`,
  )
  const version = readVersion()
  const registry = openRegistry()
  const performed = (done: Performed): void => logRequest(log, done)
  const clock = openClock()
  await using tracing = await openTracing({ settings, role: 'connector', clock, log, registry })
  const agent = openAgent({ settings, file, version, log, registry, performed, tracing })
  const { HOST: host, OPS_PORT: port } = settings
  await using ops =
    port === undefined
      ? undefined
      : await openOps({ host, port, registry, ready: async () => agent.checkReady() })
  const opsUrl =
    ops === undefined ? undefined : `http://${isIPv6(host) ? `[${host}]` : host}:${ops.port}`
  log.info(
    { version, opsUrl },
    `Started as "${settings.INSTANCE_NAME}" for ${settings.POSTERN_URL}`,
  )
  void agent.run()
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  log.info('Stopping: taking no more requests')
  await agent.stop(DRAIN_MS_MAX)
  log.info('Stopped')
}
