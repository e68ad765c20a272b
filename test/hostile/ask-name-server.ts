import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Preloaded into the processes of a relay, so that they ask the name server of a test: c-ares reads the machine's own
 * from a file that no setting moves.
 */
const server = process.env['NAME_SERVER'] ?? ''

dns.Resolver = class extends dns.Resolver {
  constructor(options?: ConstructorParameters<typeof dns.Resolver>[0]) {
    super(options)
    this.setServers([server])
  }
}
syncBuiltinESMExports()
