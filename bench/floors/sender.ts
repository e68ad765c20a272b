import { randomBytes } from 'node:crypto'

import { Agent } from 'undici'

import { post } from './post.ts'

const CONCURRENCY = 64

/** Posts 1 KiB with undici as fast as `argv` address answers, for `argv` milliseconds; tells its count and CPU. */
const [origin = '', runMs] = process.argv.slice(2)
const agent = new Agent({ connections: CONCURRENCY })
const body = randomBytes(1_024)
const until = performance.now() + Number(runMs)
const before = process.cpuUsage()
let sent = 0

async function postOn(): Promise<void> {
  while (performance.now() < until) {
    await post(agent, origin, body)
    sent++
  }
}

await Promise.all(Array.from({ length: CONCURRENCY }, postOn))
const { user, system } = process.cpuUsage(before)
process.send?.({ sent, cpuUs: user + system })
await agent.close()
