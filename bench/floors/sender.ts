import { randomBytes } from 'node:crypto'

import { Agent } from 'undici'

const CONCURRENCY = 64

/** Posts 1 KiB with undici as fast as `argv` address answers, for `argv` milliseconds; tells its count and CPU. */
const [origin = '', runMs] = process.argv.slice(2)
const agent = new Agent({ connections: CONCURRENCY })
const body = randomBytes(1_024)
const until = performance.now() + Number(runMs)
const before = process.cpuUsage()
let sent = 0

function post(): Promise<void> {
  return new Promise((resolve, reject) => {
    agent.dispatch(
      { origin, path: '/', method: 'POST', headers: ['content-type', 'application/json'], body },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
}

async function postOn(): Promise<void> {
  while (performance.now() < until) {
    await post()
    sent++
  }
}

await Promise.all(Array.from({ length: CONCURRENCY }, postOn))
const { user, system } = process.cpuUsage(before)
process.send?.({ sent, cpuUs: user + system })
await agent.close()
