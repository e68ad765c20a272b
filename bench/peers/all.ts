import type { Row } from '../table.ts'
import { inMemory, onBullmq, onGraphileWorker } from './home-made.ts'
import { hookspool } from './hookspool.ts'
import type { Peer } from './peer.ts'
import { peerRow } from './rows.ts'

const PEERS: readonly Peer[] = [hookspool, onBullmq, onGraphileWorker, inMemory]

/** The peers whose name has the pattern and that are installed, and a row for each that is not. */
export function choosePeers(pattern: string): { here: Peer[]; missing: Row[] } {
  const wanted = PEERS.filter(({ name }) => new RegExp(pattern).test(name))
  return {
    here: wanted.filter((peer) => peer.missing() === undefined),
    missing: wanted.flatMap((peer) => {
      const why = peer.missing()
      return why === undefined ? [] : [peerRow(peer, 'not measured', why)]
    }),
  }
}
