import { existsSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

import type { Environment } from '../../core/settings/setting-files.ts'
import { openReach, type Reach } from '../relay/proxy.ts'
import { FileText, secureContextFor } from '../settings/certificates.ts'
import { type AgentSettings, readAgentSettings } from '../settings/settings.ts'
import type { Api } from './api.ts'
import { portOf } from './options.ts'
import { type Connector, newEnrolmentKey } from './resources.ts'

const NAME_LENGTH_MAX = 100

interface AgentWish {
  apiUrl: string
  target: URL
  stateDir: string
  env: Environment
}

/** The settings of an agent that reaches the local server and nothing else. */
export function agentSettings({ apiUrl, target, stateDir, env }: AgentWish): AgentSettings {
  const key = keyFile(stateDir)
  const args = [
    '--relay',
    apiUrl,
    '--state-dir',
    stateDir,
    '--log-level',
    'warn',
    '--allow-loopback',
  ]
  args.push('--name', hostname().slice(0, NAME_LENGTH_MAX))
  args.push('--allow', `${target.protocol}//${target.hostname}:${portOf(target)}`)
  if (existsSync(key)) args.push('--enrollment-key-file', key)
  return readAgentSettings(args, { ...env, POSTERN_ENROLLMENT_KEY: undefined })
}

/** How that agent reaches its relay. */
export function reachOf({ POSTERN_PROXY, NO_PROXY, RELAY_CA }: AgentSettings): Reach {
  const secureContext = secureContextFor({ ca: RELAY_CA })
  return openReach({ proxy: POSTERN_PROXY, noProxy: NO_PROXY, secureContext })
}

function keyFile(stateDir: string): string {
  return join(stateDir, 'key')
}

/** Keeps the enrolment key beside the token, since it is shown once. True when it had to be made anew. */
export async function takeKey(api: Api, connector: Connector, stateDir: string): Promise<boolean> {
  const path = keyFile(stateDir)
  if (connector.enrollmentKey === undefined && 'text' in new FileText(path).read()) return false
  const key = connector.enrollmentKey ?? (await newEnrolmentKey(api, connector.id))
  writeFileSync(path, `${key}\n`, { mode: 0o600 })
  return true
}
