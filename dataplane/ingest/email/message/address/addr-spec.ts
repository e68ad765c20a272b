import type { Token } from './tokens.ts'

const DOT_ATOM = /^[^\0-\x20()<>[\]:;@\\,."\x7f]+(?:\.[^\0-\x20()<>[\]:;@\\,."\x7f]+)*$/

/**
 * Reads `local@domain`, with comments and white space between its parts taken out; undefined for anything else. Tokens have
 * no comments. An encoded word is never part of an address. (RFC 5322 3.4.1, 4.4; RFC 2047 5)
 */
export function addrSpecOf(tokens: readonly Token[]): string | undefined {
  const at = tokens.findIndex(isMark('@'))
  if (at === -1) return undefined
  const local = localOf(tokens.slice(0, at))
  const domain = domainOf(tokens.slice(at + 1))
  return local === undefined || domain === undefined ? undefined : `${local}@${domain}`
}

/** The part before the `@`, quoted only where it must be, so that one mailbox has one spelling. */
export function localOf(tokens: readonly Token[]): string | undefined {
  if (!areWords(tokens, ['atom', 'quoted'])) return undefined
  const text = tokens.map((token) => token.text).join('')
  if (/\p{Cc}/u.test(text)) return undefined
  // Dots that stand side by side, or last, are not allowed and yet part of addresses that are in use.
  const isQuoted = tokens.some(({ kind }) => kind === 'quoted')
  return isQuoted && !DOT_ATOM.test(text) ? `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"` : text
}

/** A name, without the dot of the root, or an address in brackets. */
export function domainOf(tokens: readonly Token[]): string | undefined {
  const [first] = tokens
  if (first?.kind === 'literal' && tokens.length === 1) return first.text.replaceAll(/\s/g, '')
  if (!areWords(tokens, ['atom'])) return undefined
  const text = tokens.map((token) => token.text).join('')
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  return DOT_ATOM.test(name) ? name : undefined
}

export function isMark(mark: string): (token: Token) => boolean {
  return ({ kind, text }) => kind === 'mark' && text === mark
}

/** Whether the tokens are words and dots, with a dot between any two words. */
function areWords(tokens: readonly Token[], kinds: readonly Token['kind'][]): boolean {
  const isWord = ({ kind }: Token): boolean => kinds.includes(kind)
  return (
    tokens.some(isWord) &&
    tokens.every((token, n) => {
      const before = tokens[n - 1]
      return isWord(token) ? before === undefined || !isWord(before) : isMark('.')(token)
    })
  )
}
