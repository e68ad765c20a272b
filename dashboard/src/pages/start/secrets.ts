/** Secrets of sources that this page made, until it is closed: a sample command is signed with them. */
const secrets = new Map<string, string>()

export const keepSecret = (sourceId: string, secret: string): void =>
  void secrets.set(sourceId, secret)
export const secretOf = (sourceId: string): string | undefined => secrets.get(sourceId)
