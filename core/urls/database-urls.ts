/** Scheme and credentials, hosts, the rest. A comma or @ of a password is before the last @. */
const PARTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/is

/** `host:port` of each server of a URL, as libpq reads it: `postgres://user@a:5432,b:5433/database`. */
export function databaseHostsOf(text: string): string[] {
  return PARTS.exec(text)?.[2]?.split(',') ?? []
}

/** The URL of each server of such a URL, the same but for the host. */
export function databaseUrlsOf(text: string): string[] {
  const [, start, hosts, end] = PARTS.exec(text) ?? []
  return hosts?.split(',').map((host) => `${start}${host}${end}`) ?? [text]
}
