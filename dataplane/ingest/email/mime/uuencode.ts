const LF = 0x0a
const BEGIN = /^begin(?:-base64)? [0-7]{3,4} /
const LINE_BYTES_MAX = 100

/** Decodes what lies between `begin` and `end` (POSIX uuencode); undefined without such a block. */
export function decodeUuencode(body: Buffer): Buffer | undefined {
  let at = 0
  while (at < body.length && BEGIN.exec(lineAt(body, at)) === null) at = nextLine(body, at)
  if (at >= body.length || lineAt(body, at).startsWith('begin-base64')) return undefined
  const made: Buffer[] = []
  for (at = nextLine(body, at); at < body.length; at = nextLine(body, at)) {
    const line = lineAt(body, at)
    if (line.trimEnd() === 'end') return Buffer.concat(made)
    made.push(decodeLine(line))
  }
  return undefined
}

function decodeLine(line: string): Buffer {
  const six = (at: number): number => ((line.charCodeAt(at) || 0x20) - 0x20) & 0x3f
  const made = Buffer.alloc(six(0))
  for (let to = 0, from = 1; to < made.length; to += 3, from += 4) {
    const bits = (six(from) << 18) | (six(from + 1) << 12) | (six(from + 2) << 6) | six(from + 3)
    for (let n = 0; n < 3 && to + n < made.length; n++) made[to + n] = (bits >> (16 - 8 * n)) & 0xff
  }
  return made
}

function lineAt(body: Buffer, at: number): string {
  const end = Math.min(nextLine(body, at), at + LINE_BYTES_MAX)
  return body.toString('latin1', at, end).replace(/\r?\n$/, '')
}

function nextLine(body: Buffer, at: number): number {
  const end = body.indexOf(LF, at)
  return end === -1 ? body.length : end + 1
}
