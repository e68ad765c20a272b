import { fastify } from 'fastify'

/** A fastify that reads each body whole, whatever its type. */
export function bareFastify() {
  const app = fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  return app
}
