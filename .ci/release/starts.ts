import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import type { CommandOptions } from './command.ts'

/** The first start fetches NATS and builds the dashboard. */
const START_MS = 300_000
const POLL_MS = 250
const Told = z.object({ apiUrl: z.url(), apiKey: z.string() })
const Source = z.object({ id: z.string(), ingestUrl: z.url() })
const Accepted = z.object({ eventId: z.string() })
const Stored = z.object({ id: z.string(), payload: z.object({ type: z.string() }) })

/** Starts the relay that lies in a directory as a stranger would, and sends it a webhook. Throws unless it is stored. */
export async function startsAndStores({ cwd, env }: CommandOptions, place: string): Promise<void> {
  const log = join(place, 'start.log')
  const data = join(place, 'data')
  const ports = { API_PORT: '0', INGEST_PORT: '0', GATEWAY_PORT: '0', OPS_PORT: '0' }
  const output = openSync(log, 'a')
  const child = spawn('npm', ['start'], {
    cwd,
    env: { ...env, ...ports, DATA_DIR: data },
    stdio: ['ignore', output, output],
    // Its own group, so that the signal reaches what npm started.
    detached: true,
  })
  const ended = once(child, 'exit')
  try {
    await storesOne(await toldBy(join(data, 'standalone.json'), () => child.exitCode !== null))
  } catch (error) {
    throw new Error(`npm start does not work: ${String(error)}\n${readFileSync(log, 'utf8')}`, {
      cause: error,
    })
  } finally {
    closeSync(output)
    if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM')
    await ended
  }
}

async function toldBy(file: string, hasEnded: () => boolean): Promise<z.infer<typeof Told>> {
  const deadline = performance.now() + START_MS
  while (!existsSync(file)) {
    if (hasEnded()) throw new Error('It ended')
    if (performance.now() > deadline) throw new Error(`It is not ready after ${START_MS / 1000} s`)
    await sleep(POLL_MS)
  }
  return Told.parse(JSON.parse(readFileSync(file, 'utf8')))
}

async function storesOne({ apiUrl, apiKey }: z.infer<typeof Told>): Promise<void> {
  const ask = async (url: string, body?: object): Promise<unknown> => {
    const answer = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`)
    return await answer.json()
  }
  const { ingestUrl } = Source.parse(await ask(`${apiUrl}/v1/sources`, { name: 'release' }))
  const sent = { type: 'release.checked' }
  const { eventId } = Accepted.parse(await ask(ingestUrl, sent))
  const { payload } = Stored.parse(await ask(`${apiUrl}/v1/events/${eventId}`))
  if (payload.type !== sent.type) throw new Error(`It stored ${JSON.stringify(payload)}`)
}
