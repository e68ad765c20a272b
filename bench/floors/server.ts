import { fastify } from 'fastify'

/** A bare fastify that answers 200; tells its parent its address, and the CPU it used whenever asked. */
const app = fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post('/', () => ({ ok: true }))
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
process.once('disconnect', () => process.exit())
