import type { ReadStream } from 'node:tty'

/** Ctrl-C and Ctrl-D, which a terminal in raw mode gives as characters. */
const ENDS: ReadonlySet<string> = new Set(['q', 'Q', '\u0003', '\u0004'])

interface KeyActions {
  replay(): void
  toggleFailures(): void
  end(): void
}

/** Reads single keys, of a terminal or of a pipe. Disposing gives the terminal back as it was. */
export function openKeys(
  input: NodeJS.ReadStream & Partial<Pick<ReadStream, 'setRawMode'>>,
  actions: KeyActions,
): Disposable {
  const take = (chunk: Buffer): void => {
    for (const key of chunk.toString()) {
      if (ENDS.has(key)) return actions.end()
      if (key === 'r' || key === 'R') actions.replay()
      if (key === 'f' || key === 'F') actions.toggleFailures()
    }
  }
  if (input.isTTY) input.setRawMode(true)
  input.on('data', take)
  // Without a terminal there may be nothing to read.
  input.on('error', () => {})
  return {
    [Symbol.dispose]() {
      input.off('data', take)
      if (input.isTTY) input.setRawMode(false)
      input.pause()
      input.unref()
    },
  }
}
