/** An event of a watch holds one object, of which etcd takes 1.5 MiB; JSON may be longer than what is stored. */
const LINE_BYTES_MAX = 8 * 1024 * 1024

/** The lines of a stream, each without its end. A line that never ends is an error, not memory. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream) {
    let from = 0
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at))
      yield Buffer.concat(parts).toString('utf8')
      parts = []
      bytes = 0
      from = at + 1
    }
    if (from === chunk.length) continue
    parts.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > LINE_BYTES_MAX)
      throw new Error(`A line of the watch has more than ${LINE_BYTES_MAX} bytes`)
  }
}
