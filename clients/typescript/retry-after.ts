/** The wait that an answer asks for, in whole seconds, from seconds or a date; undefined without one. */
export function retryAfterSeconds(
  headers: Headers,
  nowMs: number = Date.now(),
): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(value)) return Math.ceil(Number(value))
  const atMs = /^[a-z]/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - nowMs) / 1_000))
}
