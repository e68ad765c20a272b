import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** An answer of a listener of mail. */
export interface Said {
  code: number
  text: string
}

/** A client that says what it is told, byte for byte: a mail program would mend it. */
export class RawSmtp implements Disposable {
  #socket: Socket
  #heard = ''
  #waiting: (() => void) | undefined
  #isClosed = false

  constructor(port: number, localAddress = '127.0.0.1') {
    this.#socket = this.#listenTo(connectPlain({ port, host: '127.0.0.1', localAddress }))
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The next answer, whole. */
  async answer(): Promise<Said> {
    for (;;) {
      const match = /^(?:\d{3}-.*\r\n)*(\d{3}) .*\r\n/.exec(this.#heard)
      if (match !== null) {
        const [text, code] = match
        this.#heard = this.#heard.slice(text.length)
        return { code: Number(code), text: text.trimEnd() }
      }
      if (this.#isClosed) return { code: 0, text: this.#heard }
      await new Promise<void>((resolve) => (this.#waiting = resolve))
    }
  }

  write(bytes: string | Buffer): void {
    this.#socket.write(bytes)
  }

  async say(line: string): Promise<Said> {
    this.write(`${line}\r\n`)
    return await this.answer()
  }

  /** Greets and begins a message; the answer to DATA, or the first refusal. */
  async begin(to: string | readonly string[], from = 'sender@example.net'): Promise<Said> {
    await this.answer()
    await this.say('EHLO client.example.net')
    return await this.again(to, from)
  }

  /** Begins a further message. */
  async again(to: string | readonly string[], from = 'sender@example.net'): Promise<Said> {
    await this.say(`MAIL FROM:<${from}>`)
    for (const address of [to].flat()) {
      const said = await this.say(`RCPT TO:<${address}>`)
      if (said.code !== 250) return said
    }
    return await this.say('DATA')
  }

  /** Sends a message with its dots stuffed. */
  async message(bytes: Buffer | string): Promise<Said> {
    const text = Buffer.from(bytes).toString('latin1')
    const stuffed = text.replaceAll(/(^|\r\n)\./g, '$1..')
    this.write(
      Buffer.from(`${stuffed}${text.endsWith('\r\n') || text === '' ? '' : '\r\n'}.\r\n`, 'latin1'),
    )
    return await this.answer()
  }

  async startTls(): Promise<void> {
    await this.say('STARTTLS')
    const socket = this.#socket
    socket.removeAllListeners()
    this.#socket = this.#listenTo(connectTls({ socket, rejectUnauthorized: false }))
  }

  destroy(): void {
    this.#socket.destroy()
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #listenTo(socket: Socket): Socket {
    const wake = (): void => this.#waiting?.()
    socket.on('data', (chunk: Buffer) => {
      this.#heard += chunk.toString('latin1')
      wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      wake()
    })
    return socket
  }
}

/** Sends a message on a connection of its own, and returns the answer to it or to its first refused command. */
export async function deliver(
  port: number,
  to: string | readonly string[],
  mail: Buffer | string,
  localAddress?: string,
): Promise<Said> {
  using client = new RawSmtp(port, localAddress)
  const begun = await client.begin(to)
  return begun.code === 354 ? await client.message(mail) : begun
}
