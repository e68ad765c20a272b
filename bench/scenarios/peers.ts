import { median, percentile, type Run } from '../measure.ts'
import { choosePeers } from '../peers/all.ts'
import type { Peer } from '../peers/peer.ts'
import { postern } from '../peers/postern.ts'
import { peerRow, versionRows } from '../peers/rows.ts'
import { openTrial, type PeerRun } from '../peers/trial.ts'
import { rateText, type Row } from '../table.ts'

const WARM_UP = { seconds: 6, connections: 64, window: 64 }
const FULL = { connections: 64, window: 256 }
const RATES = [50, 200]
const RATE_CONNECTIONS = 32

export interface PeersOptions {
  seconds?: number
  rounds?: number
  /** A pattern of the names of the peers to measure. */
  only?: string
}

interface Turn {
  full: PeerRun
  /** By their rate. */
  paced: ReadonlyMap<number, PeerRun>
}

/** A turn of Postern and the peer's turn after it. */
interface Pair {
  ours: Turn
  theirs: Turn
}

/**
 * Postern and each peer that is installed, in turns: a pair of turns meets the same machine, two runs of an hour apart do
 * not, so that the ratio within a pair is the figure.
 */
export async function peers({ seconds = 8, rounds = 2, only = '' }: PeersOptions): Promise<Row[]> {
  const { here, missing } = choosePeers(only)
  const pairs = new Map(here.map((peer): [Peer, Pair[]] => [peer, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [peer, done] of pairs) {
      const ours = await takeTurn(postern, seconds)
      done.push({ ours, theirs: await takeTurn(peer, seconds) })
    }
  }
  return [
    ...[...pairs].flatMap(([peer, done]) => pairRows(peer, done)),
    ...versionRows([postern, ...here]),
    ...missing,
  ]
}

async function takeTurn(peer: Peer, seconds: number): Promise<Turn> {
  await using trial = await openTrial(peer)
  await trial.run(WARM_UP)
  const full = await trial.run({ ...FULL, seconds })
  const paced = new Map<number, PeerRun>()
  for (const rate of RATES) {
    paced.set(rate, await trial.run({ seconds, rate, connections: RATE_CONNECTIONS }))
  }
  const turn = { full, paced }
  console.log(`${peer.name}: ${rateText(rateOf(full))}, ${Math.round(full.cpuUs)} us`)
  return turn
}

const rateOf = (run: Run): number => run.delivered / run.seconds

function pairRows(peer: Peer, pairs: readonly Pair[]): Row[] {
  return [
    compared(peer, 'sustained deliveries', pairs, {
      valueOf: ({ full }) => rateOf(full),
      textOf: rateText,
    }),
    compared(peer, 'CPU of an event, sustained', pairs, {
      valueOf: ({ full }) => full.cpuUs,
      textOf: (us) => `${Math.round(us).toLocaleString('en')} us`,
    }),
    ...RATES.flatMap((rate) => {
      const at = (which: 'toAnswer' | 'toArrival', share: number) => ({
        valueOf: ({ paced }: Turn) => percentile(paced.get(rate)?.[which] ?? [], share),
        textOf: (ms: number) => `${ms.toFixed(1)} ms`,
      })
      return [
        compared(peer, `${rate}/s: post to arrival, p50`, pairs, at('toArrival', 0.5)),
        compared(peer, `${rate}/s: post to arrival, p99`, pairs, at('toArrival', 0.99)),
        compared(peer, `${rate}/s: post to answer, p99`, pairs, at('toAnswer', 0.99)),
        compared(peer, `${rate}/s: CPU of an event`, pairs, {
          valueOf: ({ paced }) => paced.get(rate)?.cpuUs ?? Number.NaN,
          textOf: (us) => `${Math.round(us).toLocaleString('en')} us`,
        }),
      ]
    }),
  ]
}

function compared(
  peer: Peer,
  figure: string,
  pairs: readonly Pair[],
  { valueOf, textOf }: { valueOf: (turn: Turn) => number; textOf: (value: number) => string },
): Row {
  const theirs = textOf(median(pairs.map((pair) => valueOf(pair.theirs))))
  const ours = textOf(median(pairs.map((pair) => valueOf(pair.ours))))
  const ratios = pairs.map((pair) => (valueOf(pair.theirs) / valueOf(pair.ours)).toPrecision(2))
  return {
    ...peerRow(peer, figure, `${theirs}, Postern ${ours}`),
    cpu: `peer to Postern in each pair: ${ratios.join(', ')}`,
  }
}
