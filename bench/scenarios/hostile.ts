import { setTimeout as sleep } from 'node:timers/promises'

import { ATTACK_NAMES, type AttackName } from '../../test/hostile/attacks.ts'
import { openGround, type HostileGround } from '../../test/hostile/ground.ts'
import { observe, type Observed } from '../../test/hostile/observe.ts'
import type { Row } from '../table.ts'

/** An attack is at its height after this time. */
const RAMP_MS = 3_000
/** Its last requests end and its connections close within this time. */
const REST_MS = 3_000

export interface HostileOptions {
  seconds?: number
  only?: string
}

/** The waits of a bystander while each attack runs, beside its waits a moment before. */
export async function hostile({ seconds = 10, only = '' }: HostileOptions): Promise<Row[]> {
  await using ground = await openGround()
  await observe(ground, RAMP_MS)
  const rows: Row[] = []
  for (const name of ATTACK_NAMES.filter((one) => new RegExp(only).test(one))) {
    rows.push(await beside(ground, name, seconds * 1_000))
    await sleep(REST_MS)
  }
  return rows
}

async function beside(ground: HostileGround, name: AttackName, forMs: number): Promise<Row> {
  const without = await observe(ground, forMs)
  await using attack = await ground.attack([name])
  await sleep(RAMP_MS)
  const during = await observe(ground, forMs)
  await attack[Symbol.asyncDispose]()
  const row = {
    figure: `beside ${name}: request to 200, 200 to destination, GET, mail; p99`,
    must: 'at most 3 times, or 250 ms',
    measured: (['answer', 'arrival', 'read', 'mail'] as const)
      .map((wait) => `${without[wait].toFixed(1)} to ${during[wait].toFixed(1)}`)
      .join(', '),
    cpu: failures(during),
  }
  console.log(`${row.figure}\n  ${row.measured}  ${row.cpu}`)
  return row
}

function failures({ failed }: Observed): string {
  return failed === 0 ? 'none failed' : `${failed} FAILED`
}
