import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { run } from '../../standalone/processes/os-process.ts'
import { freePort } from '../../standalone/processes/ports.ts'
import { scratch } from '../../test/kit/servers.ts'
import { startChild } from './child.ts'
import { CONCURRENCY, SECRET, targetOf, type Peer } from './peer.ts'

const { HOOKSPOOL_BIN = 'hookspool' } = process.env

/**
 * Hookspool (PyPI): an intake that commits to SQLite before it answers, and a dispatcher. It is made to gather a burst
 * into one delivery; here it delivers each event by itself, as its setting `unwrap` does.
 */
export const hookspool: Peer = {
  name: 'hookspool',
  missing: () =>
    version() === '' ? 'not installed: pip install hookspool==0.2.0, HOOKSPOOL_BIN' : undefined,
  version,
  async start(destination) {
    await using stack = new AsyncDisposableStack()
    const directory = stack.use(scratch()).path
    const port = await freePort()
    writeFileSync(
      join(directory, 'config.toml'),
      configOf({ port, destination, secret: join(directory, 'secret') }),
    )
    writeFileSync(join(directory, 'secret'), SECRET, { mode: 0o600 })
    const home = ['--home', directory]
    await run(HOOKSPOOL_BIN, [...home, 'check'])
    await run(HOOKSPOOL_BIN, [...home, 'migrate'])
    const start = { file: HOOKSPOOL_BIN, directory }
    const dispatch = stack.use(
      await startChild({ ...start, name: 'dispatch', args: [...home, 'dispatch'] }),
    )
    const intake = stack.use(
      await startChild({ ...start, name: 'intake', args: [...home, 'intake'], port }),
    )
    const owned = stack.move()
    return {
      target: targetOf(`http://127.0.0.1:${port}/hooks/bench`),
      pids: () => [intake.pid(), dispatch.pid()],
      async kill() {
        await intake.kill()
        await dispatch.kill()
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    }
  },
}

function version(): string {
  return spawnSync(HOOKSPOOL_BIN, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? ''
}

/** As fast as it goes: a thread for each connection of the senders, 64 deliveries at once, a look every 20 ms, a key each. */
function configOf(given: { port: number; destination: string; secret: string }): string {
  const { port, destination, secret } = given
  return `
[spool]
db = "spool.db"

[intake]
listen = "127.0.0.1:${port}"
threads = 256

[dispatch]
parallel = ${CONCURRENCY}
poll_s = 0.02

[bobbins.bench]
bobbin = "hookspool.webhook"
span = "immediate"
secrets.secret = { file = "${secret}" }
outputs = { "*" = "sink" }

[bobbins.bench.settings]
scheme = "hmac-sha256-hex"
header = "X-Hub-Signature-256"
prefix = "sha256="
key = ["number"]
dedup = "header:X-GitHub-Delivery"
event_type = "header:X-GitHub-Event"
sender_retries = true

[destinations.sink]
type = "http"
url = "${destination}"
secret = { file = "${secret}" }
allow_insecure = true
max_inflight = ${CONCURRENCY}
unwrap = true
`
}
