import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'

import { openOps } from './ops.ts'
import { Readiness } from './start-up.ts'

async function openRole() {
  const readiness = new Readiness()
  const address = { host: '127.0.0.1', port: 0 }
  const ops = await openOps({ ...address, registry: new Registry(), ready: readiness.check })
  onTestFinished(async () => await ops[Symbol.asyncDispose]())
  const readyz = async (): Promise<{ status: number; body: unknown }> => {
    const answer = await fetch(`http://127.0.0.1:${ops.port}/readyz`)
    return { status: answer.status, body: await answer.json() }
  }
  return { readiness, readyz }
}

const breaks = (message: string) => () => {
  throw new Error(message)
}

test('/readyz names each part that is not ready, and no other', async () => {
  const { readiness, readyz } = await openRole()
  expect(await readyz()).toEqual({
    status: 503,
    body: { ok: false, reason: 'Starting', parts: { role: 'Starting' } },
  })
  readiness.is({
    PostgreSQL: breaks('It is full'),
    NATS: () => undefined,
    partitions: breaks('None'),
  })
  expect(await readyz()).toEqual({
    status: 503,
    body: {
      ok: false,
      reason: 'It is full; None',
      parts: { PostgreSQL: 'It is full', partitions: 'None' },
    },
  })
  readiness.is({ PostgreSQL: async () => undefined })
  expect(await readyz()).toEqual({ status: 200, body: { ok: true } })
  readiness.waitsFor('NATS', 'NATS refuses connections')
  expect((await readyz()).body).toMatchObject({ parts: { NATS: 'NATS refuses connections' } })
})

test('/readyz names a part that does not answer', async () => {
  const { readiness, readyz } = await openRole()
  readiness.is({ NATS: () => undefined, PostgreSQL: () => new Promise(() => undefined) })
  expect((await readyz()).body).toEqual({
    ok: false,
    reason: 'PostgreSQL does not answer',
    parts: { PostgreSQL: 'PostgreSQL does not answer' },
  })
})
