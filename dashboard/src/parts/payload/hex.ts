const PER_LINE = 16
const LINES_MAX = 2000

/** `00000000  48 65 6c …  Hel…`, as hex editors show bytes. */
export function hexOf(base64: string): string {
  const bytes = Uint8Array.fromBase64(base64)
  const lines: string[] = []
  for (let at = 0; at < bytes.length && lines.length < LINES_MAX; at += PER_LINE) {
    const row = [...bytes.subarray(at, at + PER_LINE)]
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = row
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
      .join('')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(PER_LINE * 3 - 1)}  ${text}`)
  }
  if (bytes.length > LINES_MAX * PER_LINE) lines.push('…')
  return lines.join('\n')
}
