const TIMEOUT_MS = 1_000

/** Whether a GET of the address is answered within a second, with a 2xx. */
export async function answersOk(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const answer = await fetch(url, { signal }).catch(() => undefined)
  await answer?.body?.cancel()
  return answer?.ok === true
}
