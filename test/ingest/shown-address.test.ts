import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'

import { expect, onTestFinished, test } from 'vitest'

import { freePorts } from '../../standalone/processes/ports.ts'
import { callApi } from '../kit/call-api.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { eventually } from '../kit/relay.ts'
import { startWorld, type World } from '../kit/world.ts'

const SECRET = 'a-long-secret-1234'
const START_MS = 30_000

function startRole(main: string, of: World, ports: Record<string, string>): void {
  const [key] = [...of.keyring].map(([id, bytes]) => `${id}:${bytes.toString('base64')}`)
  const child = spawn(process.execPath, [main], {
    cwd: new URL('../..', import.meta.url),
    env: {
      ...SURROUNDINGS,
      DATABASE_URL: of.databaseUrl,
      NATS_URL: of.natsUrl,
      POSTERN_ENCRYPTION_KEY: key,
      HOST: '127.0.0.1',
      OPS_PORT: '0',
      LOG_LEVEL: 'error',
      ...ports,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  onTestFinished(async () => {
    const died = once(child, 'exit')
    child.kill('SIGTERM')
    await died
  })
}

test('without INGEST_URL ingest accepts a URL signature over the address that the API shows', async () => {
  const [apiPort = 0, ingestPort = 0] = await freePorts(2)
  await using world = await startWorld()
  const ports = { API_PORT: String(apiPort), INGEST_PORT: String(ingestPort) }
  for (const main of ['api/main.ts', 'dataplane/ingest/main.ts']) startRole(main, world, ports)

  const shown = await eventually(async () => {
    const { status, body } = await callApi(
      `http://127.0.0.1:${apiPort}`,
      {
        method: 'PUT',
        path: '/v1/sources/by-name/calls',
        body: { verifier: { preset: 'twilio', secret: SECRET } },
      },
      { key: world.key },
    )
    expect([200, 201]).toContain(status)
    return String(body.ingestUrl)
  }, START_MS)
  const signature = createHmac('sha1', SECRET).update(`${shown}Fromme`).digest('base64')
  const answer = await eventually(
    async () =>
      await fetch(shown, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-twilio-signature': signature,
        },
        body: 'From=me',
      }),
    START_MS,
  )

  expect(answer.status).toBe(200)
})
