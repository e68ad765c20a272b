import { setFlagsFromString } from 'node:v8'

import { opsOf } from '../core/config.ts'
import { openLog } from '../core/log.ts'
import { watchLoop } from '../core/loop/watch.ts'
import { openRegistry } from '../core/metrics/instruments.ts'
import { openOps } from '../core/ops.ts'
import { operatorConfigOrEnd, Readiness, warnOfMisspelt } from '../core/start-up.ts'
import { openOperator } from './operator.ts'
import { openConnection } from './runtime/kube/connection.ts'
import { LostLease } from './runtime/lease/elector.ts'

// Left alone, V8 lets the heap grow to four times what is in use before it looks for garbage.
setFlagsFromString('--heap-growing-percent=50')

const config = operatorConfigOrEnd(process.env)
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'operator')
warnOfMisspelt(process.env, log)
const registry = openRegistry()
using _watch = watchLoop({ registry, log })

const readiness = new Readiness()
await using ops = await openOps({ ...opsOf(config), registry, ready: readiness.check })
await using connection = openConnection(config.KUBECONFIG)
const operator = openOperator({
  connection,
  namespaces: config.WATCH_NAMESPACES,
  lease: {
    namespace: config.POD_NAMESPACE,
    name: config.LEASE_NAME,
    identity: config.INSTANCE_NAME,
  },
  clusterId: config.CLUSTER_ID,
  image: config.CONNECTOR_IMAGE,
  allowedRelays: config.ALLOWED_RELAYS,
  allowedMembers: config.ALLOWED_TEMPLATE_MEMBERS,
  pollMs: config.RELAY_POLL_SECONDS * 1_000,
  log,
  registry,
  stop: stop.signal,
})
readiness.is({ Kubernetes: operator.ready })
log.info({ opsPort: ops.port }, 'Started')
try {
  await operator.run()
  log.info('Stopped')
} catch (error) {
  // Another may lead by now: nothing that is under way may go on.
  log.fatal({ err: error }, error instanceof LostLease ? 'Lost the lease' : 'Failed')
  setTimeout(() => process.exit(1), 200)
}
if (stop.signal.aborted) setTimeout(() => process.exit(process.exitCode ?? 0), 1_000).unref()
