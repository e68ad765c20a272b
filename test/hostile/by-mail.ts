import { setTimeout as sleep } from 'node:timers/promises'

import { deliver, RawSmtp } from '../email/mailbox.ts'
import { sideBySide, type Attack, type Ground } from './attack.ts'

const MIB = 1024 * 1024
const HEAD = 'Subject: x\r\n\r\n'
const FROM = '127.0.0.2'

/** As rare as a connection stays open with, if only silence is measured. */
const NOOP_MS = 26_000
const TRICKLE_MS = 22_000

/** Mails of blank lines, of two clients one after another. */
export const blankMails: Attack = async (ground) => {
  await sendMails(ground, 2, HEAD + '\n'.repeat(390_000))
}

/** Ordinary large mails of many lines, of six clients one after another. */
export const longMails: Attack = async (ground) => {
  await sendMails(ground, 6, HEAD + `${'x'.repeat(69)}\r\n`.repeat(66_000))
}

/** Clients that send all of a large mail but its end, and then a byte now and then. */
export const halfMails: Attack = async (ground) => {
  const address = await mailbox(ground)
  let clients = 0
  sideBySide(ground, 13, async () => {
    using client = open(ground, clients++ % 13 < 10 ? FROM : '127.0.0.3')
    if ((await client.begin(address)).code !== 354) throw new Error('Refused')
    client.write(HEAD + 'x'.repeat(5 * MIB - 1_024))
    const trickle = setInterval(() => client.write('x'), TRICKLE_MS)
    await client.answer()
    clearInterval(trickle)
  })
}

/** A hundred clients of ten addresses that only say that they are there. */
export const idleMailClients: Attack = async (ground) => {
  await mailbox(ground)
  let clients = 0
  sideBySide(ground, 100, async () => {
    using client = open(ground, `127.0.${Math.trunc((clients++ % 100) / 10)}.9`)
    await client.answer()
    while (!client.isClosed) {
      if ((await client.say('NOOP')).code !== 250) throw new Error('Refused')
      await Promise.race([sleep(NOOP_MS), client.answer()])
    }
  })
}

async function mailbox({ tenant }: Ground): Promise<string> {
  const { ingestAddress } = await tenant.makeSource({ kind: 'email', verifier: undefined })
  if (ingestAddress === null) throw new Error('The source has no address')
  return ingestAddress
}

async function sendMails(ground: Ground, count: number, mail: string): Promise<void> {
  const address = await mailbox(ground)
  sideBySide(ground, count, async () => {
    const { code } = await deliver(ground.smtpPort, address, mail, FROM)
    if (code === 0 || code === 421) throw new Error('Refused')
  })
}

/** A client that ends with the attack. */
function open({ smtpPort, stack }: Ground, from: string): RawSmtp {
  const client = new RawSmtp(smtpPort, from)
  stack.defer(() => client.destroy())
  return client
}
