import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** A name server on loopback, which knows texts alone. */
export class NameServer implements AsyncDisposable {
  readonly texts = new Map<string, string>()
  readonly #socket: Socket

  static async open(): Promise<NameServer> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new NameServer(socket)
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (question, { port, address }) => {
      socket.send(this.#answerTo(question), port, address)
    })
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(resolve))
  }

  #answerTo(question: Buffer): Buffer {
    const labels: string[] = []
    let at = 12
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length))
      at += length + 1
    }
    const asked = question.subarray(12, at + 5)
    const text = this.texts.get(labels.join('.').toLowerCase())
    const isText = asked.readUInt16BE(asked.length - 4) === 16
    const count = text !== undefined && isText ? 1 : 0
    const head = Buffer.alloc(12)
    question.copy(head, 0, 0, 2)
    head.writeUInt16BE(text === undefined ? 0x8183 : 0x8180, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(count, 6)
    return Buffer.concat([head, asked, ...(count === 1 ? [recordOf(text ?? '')] : [])])
  }
}

function recordOf(text: string): Buffer {
  const pieces = text.match(/.{1,255}/g) ?? ['']
  const data = Buffer.concat(
    pieces.map((piece) => Buffer.from(`${String.fromCharCode(piece.length)}${piece}`, 'latin1')),
  )
  const head = Buffer.from([
    0xc0,
    12,
    0,
    16,
    0,
    1,
    0,
    0,
    0,
    60,
    data.length >> 8,
    data.length & 255,
  ])
  return Buffer.concat([head, data])
}

/** A key of DKIM with its record. */
export function makeKey(flags = ''): { key: KeyObject; record: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const bytes = publicKey.export({ type: 'spki', format: 'der' })
  return { key: privateKey, record: `v=DKIM1; k=rsa; ${flags}p=${bytes.toString('base64')}` }
}

/** The mail with a signature on top, `relaxed/relaxed`. The header list may name headers that the mail has not. (RFC 6376) */
export function signed(
  mail: string,
  {
    key,
    domain,
    selector = 's1',
    headers,
    tags = '',
  }: {
    key: KeyObject
    domain: string
    selector?: string
    headers: string
    tags?: string
  },
): string {
  const [head = '', ...rest] = mail.split('\r\n\r\n')
  const body = relaxedBody(rest.join('\r\n\r\n'))
  const limit = /\bl=(\d+)/.exec(tags)?.[1]
  const covered = limit === undefined ? body : body.slice(0, Number(limit))
  const hash = createHash('sha256').update(covered, 'latin1').digest('base64')
  const unsigned = `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain}; s=${selector}; h=${headers}; ${tags}bh=${hash}; b=`
  const lines = head.replaceAll(/\r\n(?=[ \t])/g, '').split('\r\n')
  const text = headers.split(':').map((name) => {
    const at = lines.findLastIndex((line) =>
      line.toLowerCase().startsWith(`${name.trim().toLowerCase()}:`),
    )
    return at === -1 ? '' : `${relaxedHeader(lines.splice(at, 1)[0] ?? '')}\r\n`
  })
  const signature = sign(
    'rsa-sha256',
    Buffer.from(`${text.join('')}${relaxedHeader(unsigned)}`, 'latin1'),
    key,
  )
  return `${unsigned}${signature.toString('base64')}\r\n${mail}`
}

function relaxedHeader(line: string): string {
  const colon = line.indexOf(':')
  return `${line.slice(0, colon).trim().toLowerCase()}:${line
    .slice(colon + 1)
    .replaceAll(/[ \t]+/g, ' ')
    .trim()}`
}

function relaxedBody(body: string): string {
  const text = body
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(' \r\n', '\r\n')
    .replace(/(?:\r\n)+$/, '')
  return text === '' ? '' : `${text}\r\n`
}
