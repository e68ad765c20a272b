/** How a name becomes the names that are asked for. */
export interface SearchList {
  domains: readonly string[]
  ndots: number
}

const NDOTS_MAX = 15

/** `search` or `domain`, the last of them, and `ndots`. Name servers are c-ares' own to read. (resolv.conf(5)) */
export function readSearchList(text: string): SearchList {
  let domains: string[] = []
  let ndots = 1
  for (const line of text.split('\n')) {
    const [word, ...rest] = (line.split(/[#;]/)[0] ?? '').trim().split(/\s+/)
    if (word === 'search') domains = rest
    else if (word === 'domain') domains = rest.slice(0, 1)
    else if (word === 'options') ndots = ndotsOf(rest) ?? ndots
  }
  return { domains: domains.map((domain) => domain.replaceAll(/^\.|\.$/g, '')), ndots }
}

/**
 * The full names to ask for, in turn, until one has an address. A name with `ndots` dots is first tried as it is; a name
 * that ends with a dot is tried only as it is.
 */
export function candidates(name: string, { domains, ndots }: SearchList): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const searched = domains.filter((domain) => domain !== '').map((domain) => `${name}.${domain}`)
  return name.split('.').length > ndots ? [name, ...searched] : [...searched, name]
}

function ndotsOf(options: readonly string[]): number | undefined {
  const digits = options.map((option) => /^ndots:(\d+)$/.exec(option)?.[1]).findLast(Boolean)
  return digits === undefined ? undefined : Math.min(Number(digits), NDOTS_MAX)
}
