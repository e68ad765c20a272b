import { connect, type Socket } from 'node:net'

/** An answer as it stood on the wire. */
export interface RawAnswer {
  status: number
  /** By their names in lower case. */
  headers: Record<string, string>
  text: string
}

interface Talk {
  /** In turn, each a moment after the one before: a parser sees them apart. */
  parts: (string | Buffer)[]
  /** Closes the sending side behind the last part. */
  half?: boolean
  /** Gives up waiting for the server to close. */
  withinMs?: number
}

export interface Talked {
  /** Final ones; those of 1xx are counted. */
  answers: RawAnswer[]
  continued: number
  isClosed: boolean
  /** The bytes that are neither. */
  rest: string
}

const PAUSE_MS = 40

/** Sends bytes as they are over a connection of their own, and reads until the server closes it or says no more. */
export async function talk(url: string, { parts, half, withinMs = 700 }: Talk): Promise<Talked> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const heard: Buffer[] = []
  let isClosed = false
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      isClosed = true
      resolve()
    }
    socket.on('data', (chunk: Buffer) => heard.push(chunk))
    socket.on('end', end)
    socket.on('close', end)
    socket.on('error', end)
  })
  for (const part of parts) {
    if (!socket.destroyed) socket.write(part)
    await pause(PAUSE_MS)
  }
  if (half === true) socket.end()
  await Promise.race([ended, quiet(socket, withinMs)])
  socket.destroy()
  return { ...read(Buffer.concat(heard).toString('latin1')), isClosed }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

/** Resolves when nothing has come for so long. */
async function quiet(socket: Socket, ms: number): Promise<void> {
  for (let before = -1; before !== socket.bytesRead;) {
    before = socket.bytesRead
    await pause(ms)
  }
}

function read(wire: string): Omit<Talked, 'isClosed'> {
  const answers: RawAnswer[] = []
  let continued = 0
  let rest = wire
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n')
    if (!rest.startsWith('HTTP/1.1 ') || headEnd === -1) return { answers, continued, rest }
    const [line = '', ...lines] = rest.slice(0, headEnd).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((one) => {
        const [name = '', value = ''] = one.split(/: ?(.*)/s, 2)
        return [name.toLowerCase(), value]
      }),
    )
    const status = Number(line.split(' ')[1])
    const length = Number(headers['content-length'] ?? 0)
    const text = rest.slice(headEnd + 4, headEnd + 4 + length)
    rest = rest.slice(headEnd + 4 + length)
    if (status < 200) continued++
    else answers.push({ status, headers, text })
  }
}
