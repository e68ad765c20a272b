/** The flag that somebody may have meant: one that begins alike, or differs by a hyphen or a spelling. */
export function nearestFlag(given: string, known: readonly string[]): string | undefined {
  const plain = plainOf(given)
  return (
    known.find((name) => plainOf(name) === plain) ??
    known.find((name) => plainOf(name).startsWith(plain) || plain.startsWith(plainOf(name)))
  )
}

function plainOf(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '').replace('enrolment', 'enrollment')
}
