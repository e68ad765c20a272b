import { fork } from 'node:child_process'
import { once } from 'node:events'

import { z } from 'zod'

import type { Senders } from '../traffic.ts'

/** A bare fastify in a process of its own: at `/` it answers 200, at `/kept` when the body is committed. */
export interface BareServer extends AsyncDisposable {
  url: URL
  /** Used so far. */
  cpuUs(): Promise<number>
}

export async function openBareServer(databaseUrl: string): Promise<BareServer> {
  const child = fork(new URL('server.ts', import.meta.url), [databaseUrl])
  const heard = async <T>(schema: z.ZodType<T>): Promise<T> => {
    const [message]: unknown[] = await once(child, 'message')
    return schema.parse(message)
  }
  return {
    url: new URL(await heard(z.string())),
    async cpuUs() {
      child.send('cpu')
      return await heard(z.number())
    },
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

/** Each connection sends again as soon as it is answered. Returns the number of answers. */
export async function sendFor(
  senders: Senders,
  { connections, ms }: { connections: number; ms: number },
): Promise<number> {
  const until = performance.now() + ms
  let answered = 0
  let underway = connections
  await new Promise<void>((resolve) => {
    const next = (): void => {
      answered++
      if (performance.now() < until) senders.send(answered, next)
      else if (--underway === 0) resolve()
    }
    for (let n = 0; n < connections; n++) senders.send(n, next)
  })
  return answered
}
