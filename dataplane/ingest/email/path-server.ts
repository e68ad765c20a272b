import { SMTPServer } from 'smtp-server'

import { readPath } from './message/address/path.ts'

type Connection = SMTPServer['connections'] extends Set<infer C> ? C : never
type Parse = Connection['_parseAddressCommand']

/** The listener of the library with another reader of addresses: its own knows no quoted ones, and ends them at a space. */
export class PathServer extends SMTPServer {
  override connect(...about: Parameters<SMTPServer['connect']>): void {
    super.connect(...about)
    const connection = [...this.connections].at(-1)
    if (connection === undefined) return
    const parse: Parse = connection._parseAddressCommand.bind(connection)
    connection._parseAddressCommand = (name, command) => parsedBy(parse, name, command)
  }
}

/** Reads the address, and has the library read the parameters behind it. */
function parsedBy(parse: Parse, name: string, command: Buffer | string): ReturnType<Parse> {
  const text = command.toString()
  const colon = text.indexOf(':')
  const path = colon === -1 ? undefined : readPath(text.slice(colon + 1))
  if (path === undefined) return false
  const { address, parameters } = path
  // Postmaster without a domain is a recipient, and no sender. (RFC 5321 4.1.1.3)
  if (address !== '' && !address.includes('@') && name !== 'rcpt to') return false
  const parsed = parse(name, `${text.slice(0, colon)}:<> ${parameters}`)
  return parsed === false ? false : { ...parsed, address }
}
