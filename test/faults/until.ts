import { waitFor } from '../../standalone/processes/os-process.ts'

/** Polls until `isTrue` answers true; a failure to ask is a "not yet". Throws, naming `what`, after `timeoutMs`. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  let failure: unknown
  const asked = async (): Promise<boolean> => {
    try {
      return await isTrue()
    } catch (error) {
      failure = error
      return false
    }
  }
  if (await waitFor(asked, timeoutMs)) return
  throw new Error(`Not within ${timeoutMs / 1_000} s: ${what}`, { cause: failure })
}
