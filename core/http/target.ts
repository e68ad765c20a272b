/** `http://host/path` names the same thing as `/path`: a client that believes to speak to a proxy sends it. (RFC 9112, 3.2.2) */
const ABSOLUTE = /^https?:\/\/[^/?#]*/i

/** A request target in origin form: what names the resource on this server. */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const rest = target.replace(ABSOLUTE, '')
  if (rest.length === target.length) return target
  return rest.startsWith('/') ? rest : `/${rest}`
}
