/** A member after a change: left out it stays as it is, null puts it back to its default. */
export function changed<T>(change: T | null | undefined, before: T, standard: T): T {
  return change === undefined ? before : (change ?? standard)
}
