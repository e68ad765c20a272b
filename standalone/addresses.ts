import { isIPv6 } from 'node:net'

import { gatewayPortOf, OPS_PORT, SettingsError, type Settings } from '../core/config.ts'
import { waitFor } from './processes/os-process.ts'
import { freePorts, whyNotFree } from './processes/ports.ts'

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
  /** The port of the listener of mail; undefined: there is none. */
  smtp: number | undefined
  ops: OpsAddresses
}

/** In the order of their ports. */
const OPS_ROLES = ['api', 'ingest', 'worker', 'housekeeper', 'gateway'] as const

/** Where the roles serve their health and metrics. */
export interface OpsAddresses {
  host: string
  ports: Record<(typeof OPS_ROLES)[number], number>
}

const OPS_HOST = '127.0.0.1'
const PORT_MAX = 65_535

/** The roles of a killed start take a moment to notice that it is gone. */
const PREDECESSOR_MS = 6_000

/**
 * The addresses of the public ports; 0 takes a free one. Throws an error that names each setting whose port another program
 * uses. After a start that was killed it waits for the roles of that one to let go.
 */
export async function chooseAddresses(settings: Settings, afterKill: boolean): Promise<Addresses> {
  const { HOST, API_PORT, INGEST_PORT, SMTP_PORT, API_URL, INGEST_URL, GATEWAY_URL } = settings
  const [spareApi = 0, spareIngest = 0, spareGateway = 0, spareSmtp = 0] = await freePorts(4)
  const api = API_PORT || spareApi
  const ingest = INGEST_PORT || spareIngest
  const gateway = gatewayPortOf(settings) || spareGateway
  const smtp = SMTP_PORT === undefined ? undefined : SMTP_PORT || spareSmtp
  const patienceMs = afterKill ? PREDECESSOR_MS : 0
  const faults = await Promise.all([
    portFault('API_PORT', { port: api, host: HOST, patienceMs }),
    portFault('INGEST_PORT', { port: ingest, host: HOST, patienceMs }),
    portFault('GATEWAY_PORT', { port: gateway, host: HOST, patienceMs }),
    smtp && portFault('SMTP_PORT', { port: smtp, host: HOST, patienceMs }),
  ])
  const used = [api, ingest, gateway, ...(smtp === undefined ? [] : [smtp])]
  const ops = await chooseOps(settings, used, patienceMs)
  const found = [...faults, ...ops.faults].filter((fault) => typeof fault === 'string')
  // A wrong HOST is the fault of each of them.
  if (found.length > 0) throw new SettingsError([...new Set(found)])
  return {
    api: { port: api, url: API_URL ?? urlOn(HOST, api) },
    ingest: { port: ingest, url: INGEST_URL ?? urlOn(HOST, ingest) },
    gateway: {
      port: gateway,
      url: GATEWAY_URL ?? urlOn(HOST, gateway).replace(/^http/, 'ws'),
    },
    smtp,
    ops: ops.addresses,
  }
}

interface ChosenOps {
  addresses: OpsAddresses
  faults: readonly string[]
}

/**
 * The ports of health and metrics: OPS_PORT and the next ones. Where OPS_PORT is not given and something uses one of them
 * (Prometheus itself, another installation), they are free ones.
 */
async function chooseOps(
  { OPS_HOST: host = OPS_HOST, OPS_PORT: given }: Settings,
  used: readonly number[],
  patienceMs: number,
): Promise<ChosenOps> {
  const first = given ?? OPS_PORT
  const ports = OPS_ROLES.map((_, index) => first + index)
  const faults = first === 0 ? [] : await opsFaults(ports, used, { host, patienceMs })
  const isFree = first === 0 || (faults.length > 0 && given === undefined)
  return isFree
    ? { addresses: opsOn(host, await freePorts(OPS_ROLES.length)), faults: [] }
    : { addresses: opsOn(host, ports), faults }
}

async function opsFaults(
  ports: readonly number[],
  used: readonly number[],
  wanted: Omit<Wanted, 'port'>,
): Promise<string[]> {
  const [first, last = 0] = [ports[0], ports.at(-1)]
  if (last > PORT_MAX) {
    return [
      `OPS_PORT ${first}: the ${ports.length} roles need ports, and none is above ${PORT_MAX}`,
    ]
  }
  const shared = ports.find((port) => used.includes(port))
  if (shared !== undefined) {
    return [`OPS_PORT ${first}: the roles have ports ${first} to ${last}, and ${shared} is taken`]
  }
  const faults = await Promise.all(
    ports.map(async (port) => await portFault('OPS_PORT', { ...wanted, port })),
  )
  return faults.filter((fault) => fault !== undefined)
}

function opsOn(host: string, ports: readonly number[]): OpsAddresses {
  const [api = 0, ingest = 0, worker = 0, housekeeper = 0, gateway = 0] = ports
  return { host, ports: { api, ingest, worker, housekeeper, gateway } }
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
  if (code === 'EADDRNOTAVAIL')
    return `${name === 'OPS_PORT' ? 'OPS_HOST' : 'HOST'} "${host}" is no address of this machine`
  if (code === 'EACCES') return `${name} ${port} may not be used by this user: take one above 1023`
  return `${name} ${port} is used by another program: stop it, or set ${name} to another port (0 takes a free one)`
}
