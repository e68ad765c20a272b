const SIGNS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * A text of somebody else for a terminal, which obeys control characters: each is replaced. With `keepsLines` line ends
 * stay, for messages of several lines.
 */
export function plainText(text: string, { keepsLines = false } = {}): string {
  return text.replaceAll(SIGNS, (sign) => (keepsLines && sign === '\n' ? sign : '\u{FFFD}'))
}

/** JSON for a terminal, indented. Its texts are whole: control characters that JSON leaves as they are, are escaped. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(SIGNS, (sign) =>
    sign === '\n' ? sign : escaped(sign),
  )
}

function escaped(sign: string): string {
  const units = Array.from({ length: sign.length }, (_, at) => sign.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
