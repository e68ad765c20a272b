import { isUtf8 } from 'node:buffer'

import { giveWay } from '../../core/loop/turn.ts'

/** A part of an answer's JSON: text, or bytes of it as they are stored. */
export type JsonPart = string | Buffer

/** Bytes of a body, or characters of a text, that are written at once: some 1 ms where each of them is escaped. */
const PART_LENGTH = 64 * 1024
/** A multiple of three, so that base64 has padding at the end alone. */
const BASE64_PART_BYTES = 48 * 1024

/** The text of bytes, in parts; together they are what `toString('utf8')` makes of all. */
export function* textParts(bytes: Buffer): Generator<string> {
  for (let start = 0; start < bytes.length;) {
    const end = startOfCharacter(bytes, Math.min(start + PART_LENGTH, bytes.length))
    yield bytes.toString('utf8', start, end)
    start = end
  }
}

/** Where the character of a byte begins; a byte behind three that continue one belongs to none before it. */
function startOfCharacter(bytes: Buffer, at: number): number {
  for (let back = 0; back <= 3; back += 1) {
    if (!isContinuation(bytes[at - back])) return at - back
  }
  return at
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** The string of JSON whose text comes in parts. */
export function* jsonString(parts: Iterable<string>): Generator<string> {
  yield '"'
  for (const part of parts) yield JSON.stringify(part).slice(1, -1)
  yield '"'
}

/** Bytes as a string of JSON, in base64. */
export function* jsonBase64(bytes: Buffer): Generator<string> {
  yield '"'
  for (let at = 0; at < bytes.length; at += BASE64_PART_BYTES) {
    yield bytes.toString('base64', at, Math.min(at + BASE64_PART_BYTES, bytes.length))
  }
  yield '"'
}

/** A text of JSON as it is stored, but for bytes that are no UTF-8: U+FFFD stands for them. */
export function* storedJson(bytes: Buffer): Generator<JsonPart> {
  if (!isUtf8(bytes)) {
    yield* textParts(bytes)
    return
  }
  for (let at = 0; at < bytes.length; at += PART_LENGTH) {
    yield bytes.subarray(at, at + PART_LENGTH)
  }
}

/** A value that is no deeper than a form: long texts are members, or items of a list that is one. */
export function* jsonValue(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > PART_LENGTH) {
    yield* jsonString(partsOf(value))
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield index === 0 ? '[' : ','
      yield* jsonValue(item)
    }
    yield value.length === 0 ? '[]' : ']'
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
    for (const [index, [name, member]] of members.entries()) {
      yield index === 0 ? '{' : ','
      yield* jsonValue(name)
      yield ':'
      yield* jsonValue(member)
    }
    yield members.length === 0 ? '{}' : '}'
  } else yield JSON.stringify(value)
}

/** The JSON of a value as `JSON.stringify` writes it. Lists of objects come an item at a time. */
export function* jsonItems(value: object): Generator<string> {
  let separator = '{'
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    yield `${separator}${JSON.stringify(name)}:`
    separator = ','
    if (isListOfObjects(member)) yield* jsonList(member)
    else yield JSON.stringify(member)
  }
  yield separator === '{' ? '{}' : '}'
}

function* jsonList(items: readonly object[]): Generator<string> {
  for (const [index, item] of items.entries()) {
    yield index === 0 ? '[' : ','
    yield* jsonItems(item)
  }
  yield ']'
}

function isListOfObjects(value: unknown): value is object[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item))
  )
}

function* partsOf(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const end = start + PART_LENGTH
    // Both halves of a surrogate pair stand in one part: alone each would be written as an escape.
    const cut = isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end
    yield text.slice(start, cut)
    start = cut
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Makes the bytes of parts as they are taken, gives way between them, and joins the small ones. */
export async function* inTurns(parts: Iterable<JsonPart>): AsyncGenerator<Buffer> {
  let text = ''
  for (const part of parts) {
    const isText = typeof part === 'string'
    if (isText) text += part
    if (isText && text.length < PART_LENGTH) continue
    await giveWay()
    if (text !== '') yield Buffer.from(text)
    text = ''
    if (!isText) yield part
  }
  if (text !== '') yield Buffer.from(text)
}

/** All of an answer that is small. */
export async function wholeText(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}
