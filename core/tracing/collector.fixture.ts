import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

import { decodeJson, decodeProtobuf, type CollectedSpan } from './decode-otlp.fixture.ts'

export type { CollectedSpan }

/** A collector on loopback that takes OTLP over HTTP, in either encoding. */
export interface Collector extends AsyncDisposable {
  url: string
  spans: CollectedSpan[]
  requests: { path: string; headers: IncomingHttpHeaders; spans: number }[]
  /** The status of its next answers; `undefined` never answers. */
  status: number | undefined
  /** From now on nobody listens. */
  stop(): Promise<void>
  /** On the same port. */
  start(): Promise<void>
}

export async function startCollector(): Promise<Collector> {
  let port = 0
  const server = createServer((request, response) => {
    const { url: path = '', headers } = request
    void buffer(request).then((sent) => {
      const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      const isJson = headers['content-type'] === 'application/json'
      const spans = isJson ? decodeJson(bytes) : decodeProtobuf(bytes)
      collector.requests.push({ path, headers, spans: spans.length })
      if (collector.status === undefined) return undefined
      if (collector.status === 200) collector.spans.push(...spans)
      response.writeHead(collector.status, { 'content-type': headers['content-type'] }).end()
      return undefined
    })
  })
  const collector: Collector = {
    url: '',
    spans: [],
    requests: [],
    status: 200,
    async start() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
      const address = server.address()
      port = typeof address === 'object' && address !== null ? address.port : 0
      collector.url = `http://127.0.0.1:${port}`
    },
    async stop() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
    [Symbol.asyncDispose]: async () => await collector.stop(),
  }
  await collector.start()
  return collector
}
