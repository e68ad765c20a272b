/** The URLs of a list of NATS servers with commas between them. A comma of a password begins no URL. */
export function natsUrlsOf(text: string): string[] {
  return text.split(/,(?=(?:nats|tls):\/\/)/)
}

/** `host:port` of each server of a list. */
export function natsHostsOf(text: string): string[] {
  return natsUrlsOf(text).flatMap((url) => URL.parse(url)?.host ?? [])
}
