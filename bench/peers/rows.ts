import type { Row } from '../table.ts'
import type { Peer } from './peer.ts'

export function peerRow({ name }: Peer, figure: string, measured: string): Row {
  return { figure: `${name}: ${figure}`, must: '', measured, cpu: '' }
}

export const versionRows = (peers: readonly Peer[]): Row[] =>
  peers.map((peer) => peerRow(peer, 'version', peer.version()))
