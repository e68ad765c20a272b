/**
 * The result of `work`, or of `late` when it takes longer than `ms`. The timer ends with the work, so that a wait never
 * keeps a process alive that has nothing else to do.
 */
export async function within<T, L>(ms: number, work: Promise<T>, late: () => L): Promise<T | L> {
  const timeout = Promise.withResolvers<undefined>()
  const timer = setTimeout(timeout.resolve, ms, undefined)
  const done = work.then((result) => ({ result }))
  try {
    const first = await Promise.race([done, timeout.promise])
    return first === undefined ? late() : first.result
  } finally {
    clearTimeout(timer)
  }
}
