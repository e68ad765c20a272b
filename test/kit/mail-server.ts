import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import { SMTPServer } from 'smtp-server'

/** A mail as the server got it. */
interface Received {
  from: string
  to: readonly string[]
  /** Headers and body, undecoded. */
  raw: string
}

/** A mail server on loopback that keeps what it is sent. */
export interface MailServer extends AsyncDisposable {
  url: string
  received: Received[]
}

interface MailServerOptions {
  /** The user and the password that it wants. */
  login?: { user: string; password: string }
  /** Refuses every recipient with this answer. */
  refusal?: { code: number; message: string }
  /** Says nothing to whoever comes. */
  isSilent?: boolean
}

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { login, refusal, isSilent = false } = options
  const received: Received[] = []
  const server = new SMTPServer({
    authOptional: login === undefined,
    allowInsecureAuth: true,
    hideSTARTTLS: login !== undefined,
    logger: false,
    onConnect(_session, done) {
      if (!isSilent) done()
    },
    onAuth({ username, password }, _session, done) {
      const isRight = username === login?.user && password === login?.password
      done(isRight ? null : new Error('Wrong login'), { user: username })
    },
    onRcptTo(_address, _session, done) {
      const error =
        refusal && Object.assign(new Error(refusal.message), { responseCode: refusal.code })
      done(error)
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        received.push({ from, to, raw: Buffer.concat(chunks).toString() })
        done()
      })
    },
  })
  server.on('error', () => {
    // A client that goes away in the middle is part of some tests.
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = listening.address() as AddressInfo
  const user = login === undefined ? '' : `${login.user}:${login.password}@`
  return {
    url: `smtp://${user}127.0.0.1:${port}`,
    received,
    [Symbol.asyncDispose]: async () =>
      await new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** The text part of a mail, its lines put together again. */
export function textOf({ raw }: Received): string {
  const part = /content-type: text\/plain[^]*?\r\n\r\n([^]*?)\r\n--/i.exec(raw)
  const isQuoted = /quoted-printable/i.test(part?.[0] ?? '')
  const body = part?.[1] ?? ''
  if (!isQuoted) return body
  return body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
}
