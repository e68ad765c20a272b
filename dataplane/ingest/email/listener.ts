import type { Registry } from 'prom-client'
import type {
  SMTPServer,
  SMTPServerAddress,
  SMTPServerDataStream,
  SMTPServerSession,
} from 'smtp-server'

import { isWithin, networkOf, type CompiledCidrs } from '../../../core/egress/address.ts'
import { capConnections } from '../../../core/http/connection-cap.ts'
import {
  PAYLOAD_KB_MAX,
  SMTP_COMMAND_BYTES_MAX,
  SMTP_CONNECTIONS_PER_ADDRESS,
  SMTP_CONNECTIONS_PER_NETWORK,
  SMTP_IDLE_SECONDS,
  SMTP_REFUSED_RECIPIENTS_MAX,
} from '../../../core/limits.ts'
import { readCertificate, type CertificateFiles } from '../../../core/settings/certificate.ts'
import { every } from '../../every.ts'
import type { ArrivingBytes } from '../budgets/arriving-bytes.ts'
import { collect, roomFor } from './arriving.ts'
import { Connections } from './connections.ts'
import { reportMail } from './mail-report.ts'
import { PathServer } from './path-server.ts'
import { addRecipient, receive, type MailDeps, type Transaction } from './receive.ts'
import { REPLIES, type Reply } from './reply.ts'

const KIB = 1_024
const CERTIFICATE_LOOK_MS = 30_000

/** How long a message that arrives while the process stops has to end. */
const CLOSE_MS = 3_000

/** Nothing of these is needed, and some are jokes of the library. */
const DISABLED = ['AUTH', 'WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD', 'VRFY', 'EXPN']

/** How a process takes mail. */
export interface MailSettings {
  /** Addresses of mail end in it. */
  domain: string
  certificate: CertificateFiles | undefined
}

interface ListenerSettings {
  /** For STARTTLS; undefined: mail comes in the clear. */
  certificate: CertificateFiles | undefined
  /** Relays, which may have any number of connections. */
  trusted: CompiledCidrs
  registry: Registry
}

/** The listener of mail. Disposing of it answers what has arrived first. */
export class MailListener implements AsyncDisposable {
  readonly #deps: MailDeps & { arriving: ArrivingBytes }
  readonly #server: SMTPServer
  readonly #connections: Connections
  readonly #trusted: CompiledCidrs
  readonly #stop = new AbortController()
  readonly #renewals: Promise<void>
  /** The message of each connection, and what the connection had refused. */
  readonly #transactions = new WeakMap<SMTPServerSession, Transaction>()
  readonly #refused = new WeakMap<SMTPServerSession, number>()

  constructor(deps: MailDeps & { arriving: ArrivingBytes }, settings: ListenerSettings) {
    this.#deps = deps
    this.#trusted = settings.trusted
    this.#server = this.#open(settings)
    this.#connections = new Connections(this.#server)
    const { log } = deps
    this.#server.on('error', (err: Error) => log.debug({ err }, 'A connection of mail failed'))
    capConnections(this.#server.server, {
      registry: settings.registry,
      log,
      max: SMTP_CONNECTIONS_PER_ADDRESS,
      networkMax: SMTP_CONNECTIONS_PER_NETWORK,
      trusted: settings.trusted,
      refusal: '421 4.7.0 Too many connections of this address or network\r\n',
    })
    this.#renewals = this.#renew(settings.certificate)
  }

  get connections(): number {
    return this.#server.connections.size
  }

  /** Resolves with the port. */
  async listen(port: number, host: string): Promise<number> {
    const { server } = this.#server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, host }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    const closed = new Promise<void>((resolve) => this.#server.close(resolve))
    for (const connection of this.#server.connections) {
      // A message that has begun to arrive is answered; everybody else can try elsewhere.
      const isIdle = !this.#transactions.has(connection.session)
      if (isIdle) connection.send(421, REPLIES.stopping.text)
    }
    await closed
    this.#connections[Symbol.dispose]()
    await this.#renewals
  }

  #open({ certificate }: ListenerSettings): SMTPServer {
    const { domain } = this.#deps
    return new PathServer({
      name: domain,
      banner: 'Postern',
      size: PAYLOAD_KB_MAX * KIB,
      logger: false,
      disableReverseLookup: true,
      authOptional: true,
      hideENHANCEDSTATUSCODES: true,
      hideDSN: true,
      hideREQUIRETLS: true,
      hideSTARTTLS: certificate === undefined,
      disabledCommands: certificate === undefined ? [...DISABLED, 'STARTTLS'] : DISABLED,
      ...(certificate && { ...readCertificate(certificate), minVersion: 'TLSv1.2' }),
      maxCommandLength: SMTP_COMMAND_BYTES_MAX,
      socketTimeout: SMTP_IDLE_SECONDS * 1_000,
      closeTimeout: CLOSE_MS,
      onMailFrom: (address, session, done) => {
        this.#transactions.set(session, this.#transactionOf(address, session))
        done()
      },
      onRcptTo: (address, session, done) => {
        void this.#answerRecipient(address.address, session, done)
      },
      onData: (stream, session, done) => {
        void this.#answerMessage(stream, session, done)
      },
    })
  }

  async #answerRecipient(
    address: string,
    session: SMTPServerSession,
    done: (error: Error | null) => void,
  ): Promise<void> {
    const refusal = await this.#onRecipient(address, session)
    done(refusal === undefined ? null : errorOf(refusal))
  }

  async #answerMessage(
    stream: SMTPServerDataStream,
    session: SMTPServerSession,
    done: (error: Error | null, text?: string) => void,
  ): Promise<void> {
    this.#connections.note(session, 'arriving')
    const reply = await this.#onMessage(stream, session)
    this.#connections.note(session, undefined)
    this.#transactions.delete(session)
    if (reply.code < 300) done(null, reply.text)
    else done(errorOf(reply))
  }

  async #onRecipient(address: string, session: SMTPServerSession): Promise<Reply | undefined> {
    const transaction = this.#transactions.get(session)
    if (transaction === undefined) return REPLIES.unavailable
    const refusal = await addRecipient(this.#deps, transaction, address)
    if (refusal === undefined) return undefined
    const refused = (this.#refused.get(session) ?? 0) + 1
    this.#refused.set(session, refused)
    return refused > SMTP_REFUSED_RECIPIENTS_MAX ? REPLIES.tooManyFaults : refusal
  }

  async #onMessage(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<Reply> {
    const transaction = this.#transactions.get(session)
    if (transaction === undefined) return REPLIES.unavailable
    const startedAt = performance.now()
    const { arriving } = this.#deps
    const arrived = await collect(stream, { arriving, ...roomFor(transaction) })
    this.#connections.note(session, 'arrived')
    if (arrived.kind === 'message') {
      try {
        return await receive(this.#deps, transaction, arrived.mail)
      } catch (err) {
        this.#deps.log.warn({ err }, 'Cannot handle a mail')
        return REPLIES.unavailable
      } finally {
        arrived.release()
      }
    }
    const reply = REPLIES[arrived.kind]
    for (const { source } of transaction.addressed.values()) {
      reportMail(this.#deps, reply, {
        envelope: transaction.envelope,
        sourceId: source.id,
        startedAt,
      })
    }
    return reply
  }

  #transactionOf(
    { address, args }: SMTPServerAddress,
    { hostNameAppearsAs: helo, remoteAddress: remoteIp, secure: tls }: SMTPServerSession,
  ): Transaction {
    const announced = args === false ? Number.NaN : Number(args['SIZE'])
    return {
      envelope: { mailFrom: address, helo, remoteIp, tls },
      sender: isWithin(remoteIp, this.#trusted) ? undefined : networkOf(remoteIp),
      announcedBytes: Number.isFinite(announced) ? announced : 0,
      addressed: new Map(),
    }
  }

  /** A certificate that was renewed is served to the next connection. */
  async #renew(certificate: CertificateFiles | undefined): Promise<void> {
    if (certificate === undefined) return
    const { log } = this.#deps
    let last = readCertificate(certificate)
    await every(
      CERTIFICATE_LOOK_MS,
      { signal: this.#stop.signal, log, name: 'certificate' },
      async () => {
        const next = readCertificate(certificate)
        if (next.cert === last.cert && next.key === last.key) return
        last = next
        this.#server.updateSecureContext(next)
        log.info('Took the renewed certificate of mail')
      },
    )
  }
}

/** The library says the message behind the code. */
function errorOf({ code, text }: Reply): Error {
  return Object.assign(new Error(text), { responseCode: code })
}
