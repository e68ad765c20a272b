import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'

import { percentile, type Run } from '../measure.ts'
import { cpuUsOfAll, PARTS, readUsage } from '../processes.ts'
import { openRelay, WARM_UP } from '../relay.ts'
import type { Row } from '../table.ts'

/** The pools close the connections of a burst after five minutes; what is measured is not their end. */
const SETTLE_MS = 15_000
const SECONDS = 60
const ROUNDS = 15

/** An installation that has nothing to do: CPU of all its processes, commits, and the first request after a rest. */
export async function idle({
  seconds = SECONDS,
  rounds = ROUNDS,
}: {
  seconds?: number
  rounds?: number
}): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024 })
  const { supervisorPid, databaseUrl } = relay.installation
  await relay.run(WARM_UP)
  await sleep(SETTLE_MS)
  const cpuShares: number[] = []
  const commits: number[] = []
  const runs: Run[] = []
  const before = readUsage(supervisorPid)
  for (let round = 0; round < rounds; round++) {
    const cpuUs = cpuUsOfAll(supervisorPid)
    const commitsBefore = await commitsOf(databaseUrl)
    const startedAt = performance.now()
    await sleep(seconds * 1_000)
    const passedMs = performance.now() - startedAt
    cpuShares.push((cpuUsOfAll(supervisorPid) - cpuUs) / 10 / passedMs)
    // The look before is itself a commit.
    commits.push(((await commitsOf(databaseUrl)) - commitsBefore - 1) / (passedMs / 1_000))
    runs.push(await relay.run({ seconds: 0.5, connections: 1, rate: 1 }))
  }
  const after = readUsage(supervisorPid)
  const totalSeconds = rounds * seconds
  const parts = PARTS.map((part) => {
    const share = (after[part].cpuUs - before[part].cpuUs) / 10_000 / totalSeconds
    return `${part} ${share.toFixed(2)}`
  })
  return [
    {
      figure: `idle for ${seconds} s: CPU of all processes`,
      must: 'below 3 % of a core',
      measured: `p50 ${at(cpuShares, 0.5)}, most ${at(cpuShares, 1)} %`,
      cpu: parts.join(', '),
    },
    {
      figure: 'commits while idle',
      must: '',
      measured: `p50 ${at(commits, 0.5)}/s`,
      cpu: '',
    },
    first('request to 200', runs, 'toAnswer'),
    first('request to destination', runs, 'toArrival'),
  ]
}

function first(name: string, runs: readonly Run[], which: 'toAnswer' | 'toArrival'): Row {
  const values = runs.flatMap((run) => run[which])
  return {
    figure: `first event after the rest: ${name}`,
    must: '',
    measured: `p50 ${at(values, 0.5)}, p99 ${at(values, 0.99)} ms of ${values.length}`,
    cpu: '',
  }
}

function at(values: readonly number[], share: number): string {
  const sorted = values.toSorted((a, b) => a - b)
  return percentile(sorted, share).toFixed(2)
}

async function commitsOf(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ commits: number }>(
      'select sum(xact_commit)::float8 as commits from pg_stat_database',
    )
    return rows[0]?.commits ?? 0
  } finally {
    await client.end()
  }
}
