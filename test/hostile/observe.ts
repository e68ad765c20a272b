import { setTimeout as sleep } from 'node:timers/promises'

import { deliver } from '../email/mailbox.ts'
import { numbered, startLoad } from '../faults/load.ts'
import { isAccepted } from '../faults/tally.ts'
import type { HostileGround } from './ground.ts'

const PER_SECOND = 50
const READS_PER_SECOND = 20
const MAILS_PER_SECOND = 5
/** Without a domain of a sender, whose names would be looked up at the name server of the machine. */
const MAIL = 'Subject: x\r\n\r\nText.\r\n'
/** An event that has not arrived by then counts as arriving then. */
const ARRIVES_MS = 20_000

/** Milliseconds: the 99th percentile of what the bystander waits for. */
interface Waits {
  /** From request to 200. */
  answer: number
  /** From 200 to its destination. */
  arrival: number
  /** A GET of the management API. */
  read: number
  /** From the connection of a sender of mail to the 250. */
  mail: number
}

export interface Observed extends Waits {
  /** Requests without a 200, mails without a 250, and events that did not arrive. */
  failed: number
}

/** Sends and reads as an ordinary tenant for so long. */
export async function observe(
  { relay, bystander, mailAddress }: HostileGround,
  forMs: number,
): Promise<Observed> {
  const { arrivals } = bystander.destination
  const first = Math.max(0, ...arrivals.keys())
  await using load = startLoad({
    ...bystander,
    perSecond: PER_SECOND,
    eventOf: (count) => first + count,
    requestOf: numbered,
  })
  const reads: Promise<number>[] = []
  const timer = setInterval(() => {
    reads.push(timed(async () => await relay.api('GET', '/v1/sources?limit=1')))
  }, 1_000 / READS_PER_SECOND)
  let mailsFailed = 0
  const mails: Promise<number>[] = []
  const mailTimer = setInterval(() => {
    const send = async (): Promise<void> => {
      const { code } = await deliver(relay.smtpPort, mailAddress, MAIL)
      if (code !== 250) mailsFailed++
    }
    mails.push(timed(send))
  }, 1_000 / MAILS_PER_SECOND)
  await sleep(forMs)
  clearInterval(timer)
  clearInterval(mailTimer)
  const sent = await load.stop()
  const accepted = sent.filter(isAccepted)
  const deadline = performance.now() + ARRIVES_MS
  const isThere = (): boolean => accepted.every(({ number }) => arrivals.has(number))
  while (!isThere() && performance.now() < deadline) await sleep(20)
  const late = performance.now()
  return {
    answer: percentile99(sent.map(({ sentAtMs, answeredAtMs }) => answeredAtMs - sentAtMs)),
    arrival: percentile99(
      accepted.map(({ number, answeredAtMs }) =>
        Math.max(0, (arrivals.get(number)?.[0]?.atMs ?? late) - answeredAtMs),
      ),
    ),
    read: percentile99(await Promise.all(reads)),
    mail: percentile99(await Promise.all(mails)),
    failed:
      mailsFailed + sent.length - accepted.filter(({ number }) => arrivals.has(number)).length,
  }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await act().catch(() => undefined)
  return performance.now() - startedAt
}

function percentile99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.NaN
}
