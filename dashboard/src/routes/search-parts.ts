/** Reads search parameters of an address: what is unknown or malformed is dropped. */
export type Raw = Record<string, unknown>

export function text(raw: Raw, name: string): string | undefined {
  const value = raw[name]
  const written = typeof value === 'number' ? String(value) : value
  return typeof written === 'string' && written !== '' ? written : undefined
}

export function choice<T extends string>(
  raw: Raw,
  name: string,
  options: readonly T[],
): T | undefined {
  return options.find((option) => option === raw[name])
}

export function moment(raw: Raw, name: string): string | undefined {
  const value = text(raw, name)
  return value !== undefined && !Number.isNaN(Date.parse(value)) ? value : undefined
}

export function flag(raw: Raw, name: string): true | undefined {
  return raw[name] === true || raw[name] === 'true' ? true : undefined
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the members that say nothing, so that an address stays short. */
export function given<T extends object>(members: T): Given<T> {
  const said = Object.entries(members).filter(([, value]) => value !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.fromEntries forgets the names
  return Object.fromEntries(said) as Given<T>
}

/** All that a page has read of its address. The router keeps what a page does not name, so the rest is named as undefined. */
export function read<T extends object>(raw: Raw, members: T): Given<T> {
  const dropped = Object.fromEntries(Object.keys(raw).map((name) => [name, undefined]))
  return { ...dropped, ...given(members) }
}
