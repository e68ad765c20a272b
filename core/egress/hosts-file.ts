import { isIP } from 'node:net'

/** Addresses by name, as `/etc/hosts` has them. */
export type Hosts = ReadonlyMap<string, readonly string[]>

/** A name may stand on several lines, for both families for instance: all of its addresses count. (hosts(5)) */
export function readHosts(text: string): Hosts {
  const hosts = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) {
      const key = name.toLowerCase()
      hosts.set(key, [...(hosts.get(key) ?? []), address])
    }
  }
  return hosts
}
