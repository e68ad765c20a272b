import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { fastify } from 'fastify'

import { median } from '../measure.ts'
import type { Row } from '../table.ts'
import { Senders } from '../traffic.ts'

const SECONDS = 4
const SYNCS = 200

/** What this machine gives to anyone, in the same run: by these a figure travels from one machine to another. */
export async function floors(): Promise<Row[]> {
  const hmacUs = timeHmac()
  return [
    {
      figure: 'floor: HMAC-SHA256 of 1 KiB',
      must: '',
      measured: `${hmacUs.toFixed(1)} us`,
      cpu: '',
    },
    {
      figure: 'floor: 8 KiB write and fdatasync',
      must: '',
      measured: `p50 ${timeSync().toFixed(2)} ms`,
      cpu: '',
    },
    {
      figure: 'floor: bare fastify 200, generator included',
      must: '',
      measured: `${Math.round(await bareServer()).toLocaleString('en')}/s`,
      cpu: '',
    },
  ]
}

function timeHmac(): number {
  const key = createSecretKey(randomBytes(32))
  const body = randomBytes(1_024)
  const rounds = 50_000
  const before = process.cpuUsage()
  for (let n = 0; n < rounds; n++) createHmac('sha256', key).update(body).digest('hex')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / rounds
}

function timeSync(): number {
  const directory = mkdtempSync(join(tmpdir(), 'postern-sync-'))
  const file = openSync(join(directory, 'probe'), 'w')
  const page = randomBytes(8_192)
  const times = Array.from({ length: SYNCS }, () => {
    const startedAt = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  rmSync(directory, { recursive: true })
  return median(times)
}

async function bareServer(): Promise<number> {
  const app = fastify()
  app.post('/', () => ({ ok: true }))
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const senders = new Senders({ url, secret: 'floor', bodyBytes: 1_024 })
  await senders.open(64)
  const until = performance.now() + SECONDS * 1_000
  let answered = 0
  await new Promise<void>((resolve) => {
    const next = (): void => {
      answered++
      if (performance.now() < until) senders.send(answered, next)
      else resolve()
    }
    for (let n = 0; n < 64; n++) senders.send(n, next)
  })
  senders.close()
  await app.close()
  return answered / SECONDS
}
