import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { decodeId } from '../../core/ids.ts'
import { RawSmtp } from '../email/mailbox.ts'
import type { Relay } from './relay.ts'

/** A load of mails that runs: open loop over a few connections that are opened again when they break. */
export interface MailLoad {
  /** Ids of the events that answers named. */
  readonly accepted: string[]
  readonly sent: number
  /** Ends it, and resolves when each connection has its last answer. */
  stop(): Promise<void>
}

interface MailLoadOptions {
  port: number
  address: string
  perSecond: number
  connections: number
}

const AGAIN_MS = 50

export function startMails({ port, address, perSecond, connections }: MailLoadOptions): MailLoad {
  const accepted: string[] = []
  const startedAt = performance.now()
  let sent = 0
  const stop = new AbortController()
  const isDue = (): boolean => sent < ((performance.now() - startedAt) / 1_000) * perSecond

  const sendAll = async (client: RawSmtp): Promise<void> => {
    await client.answer()
    await client.say('EHLO load.example.net')
    while (!stop.signal.aborted && !client.isClosed) {
      if (!isDue()) {
        await sleep(1)
        continue
      }
      const number = sent++
      const begun = await client.again(address)
      if (begun.code !== 354) {
        if (begun.code === 0 || begun.code === 421) return
        continue
      }
      const said = await client.message(mailOf(number))
      const [eventId] = /evt_\w+/.exec(said.text) ?? []
      if (said.code === 250 && eventId !== undefined) accepted.push(eventId)
    }
  }
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      using client = new RawSmtp(port)
      await sendAll(client)
      if (!stop.signal.aborted) await sleep(AGAIN_MS)
    }
  }
  const running = Array.from({ length: connections }, run)
  return {
    accepted,
    get sent() {
      return sent
    },
    async stop() {
      stop.abort()
      await Promise.all(running)
    },
  }
}

const Stored = z.array(z.object({ id: z.string() }))

/** Ids that were answered and are not stored. */
export async function lostMails(relay: Relay, { accepted }: MailLoad): Promise<string[]> {
  const stored = await relay.query('select id::text from event where mail is not null', [])
  const ids = new Set(Stored.parse(stored).map(({ id }) => id))
  return accepted.filter((id) => !ids.has(decodeId('evt', id) ?? ''))
}

function mailOf(number: number): string {
  return [
    'From: Load <load@example.net>',
    'To: orders@example.com',
    `Subject: Order ${number}`,
    `Message-ID: <${number}@load.example.net>`,
    'Content-Type: text/plain; charset=utf-8',
    '',
    'x'.repeat(500),
    '',
  ].join('\r\n')
}
