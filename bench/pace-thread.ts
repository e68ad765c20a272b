import { isMainThread, workerData } from 'node:worker_threads'

/** Times by `process.hrtime`, which all threads share, in milliseconds. */
export interface Schedule {
  startMs: number
  intervalMs: number
  count: number
  /** Says, in its one cell, how many are due so far. */
  due: Int32Array<SharedArrayBuffer>
}

export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function keep({ startMs, intervalMs, count, due }: Schedule): void {
  const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  for (let number = 0; number < count; number++) {
    const restMs = startMs + number * intervalMs - nowMs()
    if (restMs > 0) Atomics.wait(nobody, 0, 0, restMs)
    Atomics.store(due, 0, number + 1)
    Atomics.notify(due, 0)
  }
}

if (!isMainThread) keep(workerData)
