/** A piece of a header that names addresses. (RFC 5322 3.2) */
export interface Token {
  /** `fault`: characters that the grammar has no place for, up to the end of the text where a quote or comment stays open. */
  kind: 'atom' | 'quoted' | 'encoded' | 'literal' | 'mark' | 'comment' | 'fault'
  /** Without quotes, brackets of a comment, and backslashes. */
  text: string
  /** Behind white space or a comment. */
  isApart: boolean
  start: number
  end: number
}

type Found = Pick<Token, 'kind' | 'text' | 'end'>

const SPACE = /[ \t\r\n]+/y
/** Its text may hold characters that would end an atom: it is read as one. (RFC 2047) */
const ENCODED = /=\?[^\s?]+\?[bq]\?[^\s?]*\?=/iy
/** With the characters of RFC 6532. */
const ATOM = /[^\0-\x20()<>[\]:;@\\,."\x7f]+/y
/** An address of the network; no other literal is in use. (RFC 5321 4.1.3) */
const LITERAL = /\[[a-z0-9.: \t-]*\]/iy
const MARKS = '<>@,;:.'

/** Splits a header into tokens. Every text has a reading; that of a malformed one has faults. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let isApart = false
  for (let at = 0; at < text.length;) {
    const space = match(SPACE, text, at)
    if (space !== '') {
      isApart = true
      at += space.length
      continue
    }
    const found = tokenAt(text, at)
    tokens.push({ ...found, start: at, isApart })
    isApart = found.kind === 'comment'
    at = found.end
  }
  return tokens
}

function tokenAt(text: string, at: number): Found {
  const character = text[at] ?? ''
  if (character === '"') return quotedAt(text, at)
  if (character === '(') return commentAt(text, at)
  if (MARKS.includes(character)) return { kind: 'mark', text: character, end: at + 1 }
  const encoded = match(ENCODED, text, at)
  if (encoded !== '') return { kind: 'encoded', text: encoded, end: at + encoded.length }
  const atom = match(ATOM, text, at)
  if (atom !== '') return { kind: 'atom', text: atom, end: at + atom.length }
  const literal = match(LITERAL, text, at)
  if (literal !== '') return { kind: 'literal', text: literal, end: at + literal.length }
  return { kind: 'fault', text: character, end: at + 1 }
}

function quotedAt(text: string, start: number): Found {
  let content = ''
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at] ?? ''
    if (character === '"') return { kind: 'quoted', text: content, end: at + 1 }
    if (character === '\\') at++
    // A fold is no part of the text.
    const kept = text[at] ?? ''
    if (kept !== '\r' && kept !== '\n') content += kept
  }
  return { kind: 'fault', text: text.slice(start), end: text.length }
}

function commentAt(text: string, start: number): Found {
  let content = ''
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at] ?? ''
    if (character === '(' && depth++ === 0) continue
    if (character === ')' && --depth === 0) return { kind: 'comment', text: content, end: at + 1 }
    if (character === '\\') at++
    content += text[at] ?? ''
  }
  return { kind: 'fault', text: text.slice(start), end: text.length }
}

/** The match of a sticky pattern at a place; empty without one. */
function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}
