/** Since when a delivery waits for its pace or a busy destination, and whether PostgreSQL has that time. */
export interface Throttled {
  atMs: number
  isStored: boolean
}

/** The time that PostgreSQL lacks, or `otherwise` if the delivery was not throttled before. Null writes nothing. */
export function throttleToWrite(
  { throttled }: { throttled: Throttled | null },
  otherwise: number | null,
): number | null {
  if (throttled === null) return otherwise
  return throttled.isStored ? null : throttled.atMs
}
