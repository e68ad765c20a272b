import type { Registry } from 'prom-client'

import { Names } from '../core/egress/names.ts'
import type { Logger } from '../core/log.ts'
import type { Tracing } from '../core/tracing/tracing.ts'
import { Connector } from './connector.ts'
import type { IdentityFile } from './relay/identity.ts'
import { openReach } from './relay/proxy.ts'
import { openRelay } from './relay/relay.ts'
import { openDestinations } from './requests/destinations.ts'
import { whyClock } from './requests/explain.ts'
import { performer, type Performed } from './requests/perform.ts'
import { RecentAnswers } from './requests/recent-answers.ts'
import { FileText, secureContextFor } from './settings/certificates.ts'
import type { AgentSettings } from './settings/settings.ts'
import { openMetrics } from './telling/metrics.ts'

interface AgentOptions {
  settings: AgentSettings
  file: IdentityFile
  version: string
  log: Logger
  registry: Registry
  /** Told of each request. */
  performed: (done: Performed) => void
  /** Undefined while traces are off. */
  tracing?: Tracing | undefined
}

/** Puts an agent together. It begins with `run()`. */
export function openAgent({
  settings,
  file,
  version,
  log,
  registry,
  performed,
  tracing,
}: AgentOptions): Connector {
  const reach = openReach({
    proxy: settings.POSTERN_PROXY,
    noProxy: settings.NO_PROXY,
    secureContext: secureContextFor({ ca: settings.RELAY_CA }),
  })
  const metrics = openMetrics({
    registry,
    version,
    sessions: () => connector.sessions,
    inFlight: () => connector.inFlight,
    heartbeatAgeSeconds: () => connector.heartbeatAgeSeconds,
  })
  let isClockTold = false
  const onClock = (aheadMs: number): void => {
    const line = whyClock(aheadMs)
    if (line !== undefined && !isClockTold) log.warn(line)
    isClockTold = line !== undefined
  }
  const destinations = openDestinations(settings, new Names())
  const perform = performer({
    ...destinations,
    recent: new RecentAnswers(),
    tracing,
    performed(done) {
      metrics.performed(done)
      performed(done)
    },
  })
  const connector = new Connector({
    relayUrl: settings.POSTERN_URL,
    relay: openRelay({ url: settings.POSTERN_URL, reach, onClock }),
    reach,
    file,
    readKey: () => keyNow(settings),
    instanceName: settings.INSTANCE_NAME,
    version,
    startedAt: new Date(),
    perform,
    narrow: destinations.rules.narrow,
    metrics,
    log,
    random: Math.random,
  })
  return connector
}

/** A key in a file is read anew each time: it may have been changed. */
function keyNow({ enrolmentKeyFile, POSTERN_ENROLLMENT_KEY }: AgentSettings): string | undefined {
  if (enrolmentKeyFile === undefined) return POSTERN_ENROLLMENT_KEY
  const read = new FileText(enrolmentKeyFile).read()
  return 'text' in read ? read.text : undefined
}
