/** Carries through how many deliveries of a relay an event has come: a destination may be a source, its own even. */
export const HOPS_HEADER = 'postern-hops'

/** The number that a request brings, the largest when it has several; 0 when it has none. */
export function hopsOf(value: string | undefined): number {
  if (value === undefined) return 0
  const numbers = value.split(',').map((part) => part.trim())
  return Math.max(0, ...numbers.filter((part) => /^\d+$/.test(part)).map(Number))
}
