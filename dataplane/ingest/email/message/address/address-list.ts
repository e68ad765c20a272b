import { addrSpecOf, domainOf, isMark, localOf } from './addr-spec.ts'
import { tokensOf, type Token } from './tokens.ts'

/** An entry of a header such as `To`. */
export interface Mailbox {
  /** With its encoded words as they were written; the whole entry where it has no address that can be read. */
  name: string
  /** Empty where none can be read. Without a domain where none was written (`<root>`). */
  address: string
}

/** An entry before names with a comma in them are put together. */
interface Entry extends Mailbox {
  /** `phrase`: words without an address. `named`: words before an address in angle brackets. */
  form: 'phrase' | 'named' | 'other'
}

/**
 * Reads the addresses of a header, decoded from its bytes and still with its encoded words: the members of a group stand in
 * its place. No address is guessed, and none comes out of a quote, a comment or an encoded word. (RFC 5322 3.4, 4.4)
 */
export function readAddresses(text: string): Mailbox[] {
  const mailboxes: Mailbox[] = []
  let name = ''
  const flush = (): void => {
    if (name !== '') mailboxes.push({ name, address: '' })
    name = ''
  }
  for (const { form, ...entry } of entriesOf(text)) {
    if (form === 'phrase') name = joined(name, entry.name)
    // `Doe, John <john@example.com>`: a comma that should have been in quotes.
    else if (form === 'named') {
      mailboxes.push({ ...entry, name: joined(name, entry.name) })
      name = ''
    } else {
      flush()
      mailboxes.push(entry)
    }
  }
  flush()
  return mailboxes
}

function joined(one: string, other: string): string {
  return one === '' ? other : `${one}, ${other}`
}

function entriesOf(text: string): Entry[] {
  return elementsOf(tokensOf(text)).flatMap((tokens) => entryOf(tokens, text) ?? [])
}

/** The tokens between commas and semicolons, without comments before them and the names of groups. */
function elementsOf(tokens: readonly Token[]): Token[][] {
  const elements: Token[][] = []
  let element: Token[] = []
  // Kept as the element grows: looking it through at every colon would take the square of the time.
  let isName = true
  let isInAngle = false
  let isInGroup = false
  const start = (): void => {
    element = []
    isName = true
  }
  for (const token of tokens) {
    const mark = token.kind === 'mark' ? token.text : ''
    if (mark === '<') isInAngle = true
    if (mark === '>') isInAngle = false
    if (!isInAngle && (mark === ',' || mark === ';')) {
      elements.push(element)
      start()
      if (mark === ';') isInGroup = false
    } else if (mark === ':' && isName && element.length > 0 && !isInGroup) {
      isInGroup = true
      start()
    } else if (token.kind !== 'comment' || element.length > 0) {
      element.push(token)
      isName &&= token.kind === 'comment' || isOfPhrase(token)
    }
  }
  return [...elements, element]
}

/** Undefined for an element without anything in it, which old programs write. */
function entryOf(tokens: readonly Token[], text: string): Entry | undefined {
  const said = withoutComments(tokens)
  if (said.length === 0) return undefined
  const open = said.findIndex(isMark('<'))
  if (open !== -1) {
    const address = angleAddressOf(said.slice(open))
    const name = textOf(said.slice(0, open)) || commentOf(tokens)
    if (address !== undefined) return { name, address, form: open === 0 ? 'other' : 'named' }
  } else if (isPhrase(said)) return { name: textOf(said), address: '', form: 'phrase' }
  else {
    const address = addrSpecOf(said)
    if (address !== undefined) return { name: commentOf(tokens), address, form: 'other' }
  }
  const whole = text.slice(said[0]?.start, said.at(-1)?.end).replaceAll(/[ \t\r\n]+/g, ' ')
  return { name: whole, address: '', form: 'other' }
}

/** The address of `<…>`, without the route that old programs put before it. */
function angleAddressOf(tokens: readonly Token[]): string | undefined {
  const inner = tokens.slice(1, -1)
  if (tokens.length < 2 || !tokens.slice(-1).every(isMark('>'))) return undefined
  if (inner.some((token) => isMark('<')(token) || isMark('>')(token))) return undefined
  if (inner.length === 0) return ''
  const routed = withoutRoute(inner)
  return routed && (addrSpecOf(routed) ?? localOf(routed))
}

/** Undefined where a route is begun and is none. */
function withoutRoute(tokens: readonly Token[]): readonly Token[] | undefined {
  if (!tokens.slice(0, 1).every(isMark('@'))) return tokens
  const end = tokens.findIndex(isMark(':'))
  if (end === -1) return undefined
  const hops: Token[][] = [[]]
  for (const token of tokens.slice(0, end)) {
    if (isMark(',')(token)) hops.push([])
    else hops.at(-1)?.push(token)
  }
  const isRoute = hops.every(
    (hop) =>
      hop.length === 0 ||
      (hop.slice(0, 1).every(isMark('@')) && domainOf(hop.slice(1)) !== undefined),
  )
  return isRoute ? tokens.slice(end + 1) : undefined
}

function withoutComments(tokens: readonly Token[]): Token[] {
  return tokens.filter(({ kind }) => kind !== 'comment')
}

/** Words, with the dots that old programs write among them. */
function isPhrase(tokens: readonly Token[]): boolean {
  return tokens.length > 0 && tokens.every(isOfPhrase)
}

function isOfPhrase(token: Token): boolean {
  return ['atom', 'quoted', 'encoded'].includes(token.kind) || isMark('.')(token)
}

function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ text, isApart }, n) => (isApart && n > 0 ? ` ${text}` : text))
    .join('')
    .trim()
}

/** The name that old programs put behind an address. */
function commentOf(tokens: readonly Token[]): string {
  return tokens
    .filter(({ kind }) => kind === 'comment')
    .map(({ text }) => text.trim())
    .join(' ')
}
