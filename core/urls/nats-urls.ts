/** The URLs of a list of NATS servers with commas between them. A comma of a password begins no URL. */
export function natsUrlsOf(text: string): string[] {
  return text.split(/,(?=(?:nats|tls):\/\/)/)
}

/** `host:port` of each server of a list. */
export function natsHostsOf(text: string): string[] {
  return natsUrlsOf(text).flatMap((url) => URL.parse(url)?.host ?? [])
}

/** Paths of the files by which a client signs in and trusts its servers. Each connect reads them again. */
export interface NatsFiles {
  creds?: string | undefined
  nkeySeed?: string | undefined
  ca?: string | undefined
  cert?: string | undefined
  key?: string | undefined
}
