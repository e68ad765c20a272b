import { findNatsBinary } from '../../standalone/servers/nats-binary.ts'
import { NATS_CACHE } from '../kit/servers.ts'

/** Prints the path of a nats-server, for an image. */
const { file } = await findNatsBinary({
  cache: NATS_CACHE,
  chosen: process.env['NATS_SERVER_BIN'],
  env: process.env,
  print: () => {},
})
process.stdout.write(file)
