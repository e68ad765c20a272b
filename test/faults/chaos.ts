import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'

import { ATTACK_NAMES } from '../hostile/attacks.ts'
import { openGround } from '../hostile/ground.ts'
import { runChaos } from './chaos-run.ts'
import { lostMails, startMails } from './mail-load.ts'
import { startRelay } from './relay.ts'
import { printAccount } from './tally.ts'

/** How long it is between two faults: long enough for most to be over, short enough for some not to be. */
const GAP_MS = { min: 2_000, max: 15_000 }
/** Beside hostile tenants: kills alone, with time to come back, so that it can be told what the attacks delay. */
const HOSTILE = { kinds: ['kill'], gapMs: { min: 15_000, max: 30_000 } } as const
const LATE_MS_MAX = 5_000
/** Mails of the bystander, and the part that is accepted at least: kills of ingest and PostgreSQL break some. */
const MAILS_PER_SECOND = 5
const ACCEPTED_PART_MIN = 0.9

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string' },
    /** All attacks of `test/hostile` at once, by a tenant of their own. */
    hostile: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
})
const isHostile = values.hostile
const rates = values.rate ?? (isHostile ? '100' : '500')
const [minutes = 0, rate = 0, seed = 0] = [values.minutes, rates, values.seed].map(Number)
if (!(minutes > 0 && rate > 0 && Number.isInteger(seed))) {
  throw new Error('Usage: npm run chaos -- [--minutes 10] [--rate 500] [--seed 1] [--hostile]')
}

// The installation hears of a Ctrl-C too and ends; what is frozen must be awake for that.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(130))
const print = (line: string): void => void process.stdout.write(`${line}\n`)

print(`${minutes} minutes at ${rate}/s, --seed ${seed}`)
await using ground = isHostile ? await openGround() : undefined
await using ownRelay = ground === undefined ? await startRelay() : undefined
const relay = ground?.relay ?? ownRelay
if (relay === undefined) throw new Error('No relay')
const mails =
  ground &&
  startMails({
    port: relay.smtpPort,
    address: ground.mailAddress,
    perSecond: MAILS_PER_SECOND,
    connections: 2,
  })
const { accounts, struck, duplicatesMax } = await runChaos(relay, {
  seed,
  durationMs: minutes * 60_000,
  perSecond: rate,
  gapMs: GAP_MS,
  ...(ground && { ...HOSTILE, beside: async () => await ground.attack(ATTACK_NAMES) }),
  print,
})
print(`${struck.length} faults, --seed ${seed}; duplicates at most ${duplicatesMax} by them`)
for (const [name, account] of Object.entries(accounts)) printAccount(name, account)
if (mails !== undefined) {
  await mails.stop()
  const { sent, accepted } = mails
  const gone = await lostMails(relay, mails)
  print(`mails: ${sent} sent, ${accepted.length} accepted, ${gone.length} lost`)
  if (gone.length > 0 || accepted.length < sent * ACCEPTED_PART_MIN) process.exitCode = 1
}
const lost = Object.values(accounts).reduce((sum, account) => sum + account.lost, 0)
if (lost > 0) {
  print(`LOST ${lost} accepted events`)
  process.exitCode = 1
}
const late = Math.max(...Object.values(accounts).map(({ lateMs }) => lateMs))
if (isHostile && late > LATE_MS_MAX) {
  print(`LATE by ${late} ms`)
  process.exitCode = 1
}
