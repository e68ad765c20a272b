/** How often each reason occurs. */
export function countsOf(reasons: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const reason of reasons) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
