import { setTimeout as sleep } from 'node:timers/promises'

import { openTrafficSink, runTraffic, type Run, type Traffic } from '../measure.ts'
import { cpuUsOfAll } from '../processes.ts'
import type { Peer } from './peer.ts'

/** A run, with the CPU of everything that the peer needs. */
export interface PeerRun extends Run {
  cpuUs: number
}

/** A peer that runs, with a destination of its own. */
export interface Trial extends AsyncDisposable {
  run(traffic: Pick<Traffic, 'seconds' | 'connections' | 'rate' | 'window'>): Promise<PeerRun>
  /** Traffic at a low rate, with two kills; undefined when there is nothing of that kind to kill. */
  runKilled(what: 'processes' | 'stores'): Promise<Run | undefined>
}

const KILLED = { seconds: 20, rate: 200, connections: 32 }
const KILLS = 2
const KILL_EVERY_MS = 5_000
/** Longer than BullMQ's locks (30 s, looked at every 30 s) and Postern's leases (15 s) last. */
const KILLED_SETTLE_MS = 90_000

/** The destination answers at once unless it is told to take its time. */
export async function openTrial(peer: Peer, answerAfterMs = 0): Promise<Trial> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await openTrafficSink(1, answerAfterMs))
  const relay = stack.use(await peer.start(sink.urls[0] ?? ''))
  // Numbers start again with each run, and an earlier run's would be duplicates.
  let runs = 0
  const traffic = async (one: Omit<Traffic, 'target' | 'fanOut' | 'supervisorPid'>): Promise<Run> =>
    await runTraffic(sink, {
      ...one,
      fanOut: 1,
      target: { ...relay.target, run: runs++ },
      supervisorPid: relay.pids()[0] ?? 0,
    })
  const cpuUs = (): number => relay.pids().reduce((sum, pid) => sum + cpuUsOfAll(pid), 0)
  const owned = stack.move()
  return {
    async run(one) {
      const before = cpuUs()
      const run = await traffic(one)
      return { ...run, cpuUs: (cpuUs() - before) / Math.max(1, run.accepted) }
    },
    async runKilled(what) {
      const kill = what === 'processes' ? relay.kill : relay.killStores
      if (kill === undefined) return undefined
      const arrived = Promise.withResolvers<number>()
      sink.listeners.add(arrived.resolve)
      const killTwice = async (): Promise<void> => {
        await arrived.promise
        for (let kills = 0; kills < KILLS; kills++) {
          await sleep(KILL_EVERY_MS)
          await kill()
        }
      }
      const running = traffic({ ...KILLED, settleMs: KILLED_SETTLE_MS })
      const [run] = await Promise.all([running, killTwice()])
      sink.listeners.delete(arrived.resolve)
      return run
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
