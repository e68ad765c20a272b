import type { Run } from '../measure.ts'
import { choosePeers } from '../peers/all.ts'
import type { Peer } from '../peers/peer.ts'
import { postern } from '../peers/postern.ts'
import { peerRow, versionRows } from '../peers/rows.ts'
import { openTrial } from '../peers/trial.ts'
import type { Row } from '../table.ts'

/** 64 requests of half a second are 128/s, and 200/s come in: webhooks wait in each relay when it is killed. */
const ANSWER_AFTER_MS = 500

/** Postern and each peer that is installed, killed under load: its own processes, then its stores. */
export async function peersKilled({ only = '' }: { only?: string }): Promise<Row[]> {
  const { here, missing } = choosePeers(only)
  const rows: Row[] = []
  for (const peer of [postern, ...here]) rows.push(...(await killRows(peer)))
  return [...rows, ...versionRows([postern, ...here]), ...missing]
}

/** A trial of its own for each kind of kill. */
async function killRows(peer: Peer): Promise<Row[]> {
  const rows: Row[] = []
  for (const what of ['processes', 'stores'] as const) {
    await using trial = await openTrial(peer, ANSWER_AFTER_MS)
    const run = await trial.runKilled(what)
    if (run === undefined) continue
    rows.push(peerRow(peer, `its ${what} killed twice in 20 s at 200/s`, killText(run)))
    console.log(`${peer.name}, ${what}: ${killText(run)}`)
  }
  return rows
}

function killText({ accepted, refused, lost, duplicates, toArrival }: Run): string {
  const longest = ((toArrival.at(-1) ?? 0) / 1_000).toFixed(1)
  return (
    `${lost} of ${accepted} accepted not delivered within 90 s, ${duplicates} repeated, ` +
    `${refused} not accepted, longest ${longest} s`
  )
}
