import type { Settings } from '../core/config.ts'
import { waitFor } from './os-process.ts'
import { freePorts, isFree } from './ports.ts'

export interface Address {
  port: number
  /** How a program reaches it: the configured URL, else the loopback address. */
  url: string
}

/** The roles of a killed start take a moment to notice that it is gone. */
const PREDECESSOR_MS = 6_000

/**
 * The addresses of the public ports; 0 takes a free one. Throws, naming the variable, when another program listens.
 * After a start that was killed it waits for the roles of that one to let go.
 */
export async function chooseAddresses(
  settings: Settings,
  afterKill: boolean,
): Promise<{ api: Address; ingest: Address }> {
  const patienceMs = afterKill ? PREDECESSOR_MS : 0
  const [spareApi = 0, spareIngest = 0] = await freePorts(2)
  const api = await choosePort('API_PORT', settings.API_PORT || spareApi, patienceMs)
  const ingest = await choosePort('INGEST_PORT', settings.INGEST_PORT || spareIngest, patienceMs)
  if (api === ingest) throw new Error(`Cannot start: API_PORT and INGEST_PORT are both ${api}.`)
  return {
    api: { port: api, url: settings.API_URL ?? `http://127.0.0.1:${api}` },
    ingest: { port: ingest, url: settings.INGEST_URL ?? `http://127.0.0.1:${ingest}` },
  }
}

async function choosePort(name: string, port: number, patienceMs: number): Promise<number> {
  if (await waitFor(() => isFree(port), patienceMs)) return port
  throw new Error(
    `Cannot start: ${name} ${port} is used by another program. Stop it, or set ${name} to another port (0 takes a free one).`,
  )
}
