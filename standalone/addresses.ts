import { isIPv6 } from 'node:net'

import { gatewayPortOf, SettingsError, type Settings } from '../core/config.ts'
import { waitFor } from './os-process.ts'
import { freePorts, whyNotFree } from './ports.ts'

interface Address {
  port: number
  /** How a program reaches it: the configured URL, else the address that it listens on. */
  url: string
}

export interface Addresses {
  api: Address
  ingest: Address
  /** Its URL is a WebSocket's. */
  gateway: Address
}

/** The roles of a killed start take a moment to notice that it is gone. */
const PREDECESSOR_MS = 6_000

/**
 * The addresses of the public ports; 0 takes a free one. Throws an error that names each setting whose port another program
 * uses. After a start that was killed it waits for the roles of that one to let go.
 */
export async function chooseAddresses(settings: Settings, afterKill: boolean): Promise<Addresses> {
  const { HOST, API_PORT, INGEST_PORT, API_URL, INGEST_URL, GATEWAY_URL } = settings
  const [spareApi = 0, spareIngest = 0, spareGateway = 0] = await freePorts(3)
  const api = API_PORT || spareApi
  const ingest = INGEST_PORT || spareIngest
  const gateway = gatewayPortOf(settings) || spareGateway
  const patienceMs = afterKill ? PREDECESSOR_MS : 0
  const faults = await Promise.all([
    portFault('API_PORT', { port: api, host: HOST, patienceMs }),
    portFault('INGEST_PORT', { port: ingest, host: HOST, patienceMs }),
    portFault('GATEWAY_PORT', { port: gateway, host: HOST, patienceMs }),
  ])
  const found = faults.filter((fault) => fault !== undefined)
  // A wrong HOST is the fault of each of them.
  if (found.length > 0) throw new SettingsError([...new Set(found)])
  return {
    api: { port: api, url: API_URL ?? urlOn(HOST, api) },
    ingest: { port: ingest, url: INGEST_URL ?? urlOn(HOST, ingest) },
    gateway: {
      port: gateway,
      url: GATEWAY_URL ?? urlOn(HOST, gateway).replace(/^http/, 'ws'),
    },
  }
}

/** How a program of this machine reaches a port on HOST. */
export function urlOn(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::' || host === 'localhost') return `http://127.0.0.1:${port}`
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

interface Wanted {
  port: number
  host: string
  patienceMs: number
}

async function portFault(
  name: string,
  { port, host, patienceMs }: Wanted,
): Promise<string | undefined> {
  let code: string | undefined
  const isFree = async (): Promise<boolean> => {
    code = await whyNotFree(port, host)
    return code === undefined
  }
  if (await waitFor(isFree, patienceMs)) return undefined
  if (code === 'EADDRNOTAVAIL') return `HOST "${host}" is no address of this machine`
  if (code === 'EACCES') return `${name} ${port} may not be used by this user: take one above 1023`
  return `${name} ${port} is used by another program: stop it, or set ${name} to another port (0 takes a free one)`
}
