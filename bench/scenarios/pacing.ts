import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'
import { z } from 'zod'

import { openRelay, type RelayOptions } from '../relay.ts'
import type { Row } from '../table.ts'

const DESTINATION_RATE = 50
const ORGANISATION_RATE = 100
/** Twice the mean, as in every plan of the specification. */
const ORGANISATION_BURST = 200
const ORGANISATION_DESTINATIONS = 4
/** Beyond what can go out in the time, so that there is always one waiting. */
const FLOOD_BESIDES = 1_000
const MEAN_MS = 10_000
const STEP_MS = 100

const Begun = z.object({ at: z.date() })

/** A flood at once for one paced destination, then for four of an organisation whose plan is paced. */
export async function pacing({ seconds = 20 }: { seconds?: number }): Promise<Row[]> {
  const destination = { rateLimit: DESTINATION_RATE, rateLimitPeriod: 'second' }
  const ofDestination = await flood(
    { fanOut: 1, bodyBytes: 1_024, destination },
    {
      rate: DESTINATION_RATE,
      seconds,
    },
  )
  const plans = mkdtempSync(join(tmpdir(), 'postern-plans-'))
  const file = join(plans, 'plans.json')
  const limits = {
    maxDeliveriesPerSecond: ORGANISATION_RATE,
    burstDeliveriesPerSecond: ORGANISATION_BURST,
  }
  writeFileSync(file, JSON.stringify({ enterprise: limits }))
  const settings = { PLANS_FILE: file, DEFAULT_PLAN: 'enterprise' }
  const several = { fanOut: 1, bodyBytes: 1_024, sources: ORGANISATION_DESTINATIONS, settings }
  const ofOrganisation = await flood(several, { rate: ORGANISATION_RATE, seconds })
  rmSync(plans, { recursive: true })
  return [
    rowOf(`pacing of a destination at ${DESTINATION_RATE}/s`, ofDestination, {
      rate: DESTINATION_RATE,
      burst: DESTINATION_RATE,
    }),
    rowOf(
      `pacing of an organisation at ${ORGANISATION_RATE}/s, bursts of ${ORGANISATION_BURST}, ${ORGANISATION_DESTINATIONS} destinations`,
      ofOrganisation,
      { rate: ORGANISATION_RATE, burst: ORGANISATION_BURST },
    ),
  ]
}

interface Flooded {
  /** Milliseconds of each arrival, from the first one until `seconds` later. */
  arrivals: number[]
  /** When the worker began each attempt: what lies between is the way, which bunches up while the machine is busy. */
  begun: number[]
}

async function flood(
  options: RelayOptions,
  { rate, seconds }: { rate: number; seconds: number },
): Promise<Flooded> {
  await using relay = await openRelay(options)
  const arrivals: number[] = []
  const note = (): void => void arrivals.push(performance.now())
  relay.sink.listeners.add(note)
  await relay.fill(rate * seconds + FLOOD_BESIDES)
  const [first = performance.now()] = arrivals
  await sleep(Math.max(0, first + seconds * 1_000 - performance.now()))
  return {
    arrivals: arrivals.filter((at) => at < first + seconds * 1_000),
    begun: await readBegun(relay.installation.databaseUrl),
  }
}

async function readBegun(databaseUrl: string): Promise<number[]> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const { rows } = await client.query('select started_at as at from attempt order by 1')
    return Begun.array()
      .parse(rows)
      .map(({ at }) => at.getTime())
  } finally {
    await client.end()
  }
}

function rowOf(
  figure: string,
  { arrivals, begun }: Flooded,
  { rate, burst }: { rate: number; burst: number },
): Row {
  const share = leastIn(arrivals, MEAN_MS) / ((rate * MEAN_MS) / 1_000)
  return {
    figure,
    must: `at most ${burst + 2} in any second, 99 % over 10 s`,
    measured: `at most ${mostIn(begun, 1_000)}, ${(share * 100).toFixed(1)} %`,
    cpu: `by the sink's clock at most ${mostIn(arrivals, 1_000)} of ${arrivals.length}`,
  }
}

/** The most arrivals that lie within `spanMs` of each other. */
function mostIn(arrivals: readonly number[], spanMs: number): number {
  let most = 0
  let from = 0
  for (const [index, at] of arrivals.entries()) {
    while ((arrivals[from] ?? at) <= at - spanMs) from++
    most = Math.max(most, index - from + 1)
  }
  return most
}

/** The fewest in a window that lies between the first and the last arrival, in steps of a tenth of a second. */
function leastIn(arrivals: readonly number[], spanMs: number): number {
  const last = arrivals.at(-1) ?? 0
  let least = Number.POSITIVE_INFINITY
  for (let from = arrivals[0] ?? 0; from + spanMs <= last + STEP_MS; from += STEP_MS) {
    const within = arrivals.filter((at) => at >= from && at < from + spanMs)
    least = Math.min(least, within.length)
  }
  return least === Number.POSITIVE_INFINITY ? Number.NaN : least
}
