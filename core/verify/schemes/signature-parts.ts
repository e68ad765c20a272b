import type { ConfigOf } from '../config/verifier-config.ts'
import { decodeExact } from '../request/encoding.ts'
import { type Reader, readerOf, type View } from '../request/view.ts'

type SignatureConfig = ConfigOf<'hmac'>['signature']

/** Providers send two during a rotation; each one more costs a comparison, or a public-key operation. */
export const CANDIDATES_MAX = 10

/** Items of one value that are looked at. A list of more is no signature. */
export const ITEMS_MAX = 100

/** The parts of a signature value. `pairs` are its keys and values, for `pairs` only. */
export interface ParsedSignature {
  candidates: Buffer[]
  timestamp: string | undefined
  pairs: ReadonlyMap<string, string> | undefined
}

/** Whether the bytes can be a signature of the algorithm. */
export type Fits = (bytes: Buffer) => boolean

/** Reads the values that carry signatures: every name present, every member of a numbered family. Blank ones do not count. */
export function signatureReader(config: SignatureConfig): (view: View) => string[] {
  const isFamily = (name: string): boolean => config.in === 'header' && name.endsWith('*')
  const readers: Reader[] = config.names
    .filter((name) => !isFamily(name))
    .map((name) => readerOf({ in: config.in, name }))
  const families = config.names.filter(isFamily).map((name) => name.slice(0, -1).toLowerCase())
  return (view) => {
    const values: string[] = []
    for (const read of readers) addPresent(values, read(view))
    if (families.length > 0) addFamilies(values, view, families)
    return values
  }
}

function addPresent(values: string[], value: string | undefined): void {
  if (value !== undefined && value.trim() !== '') values.push(value)
}

function addFamilies(values: string[], view: View, families: readonly string[]): void {
  const { headers } = view.request
  for (const name of Object.keys(headers)) {
    const family = families.find((prefix) => name.startsWith(prefix))
    if (family !== undefined && /^\d{1,3}$/.test(name.slice(family.length))) {
      addPresent(values, headers[name])
    }
  }
}

/** Takes signature values apart and leaves out malformed signatures. */
export function signatureParser(
  config: SignatureConfig,
  fits: Fits,
): (values: readonly string[]) => ParsedSignature {
  const decode = (item: string): Buffer | undefined => {
    const prefix = config.prefix ?? ''
    if (!item.startsWith(prefix)) return undefined
    const bytes = decodeExact(item.slice(prefix.length), config.encoding)
    return bytes !== undefined && fits(bytes) ? bytes : undefined
  }
  const parse = parserOf(config, decode)
  return (values) => {
    const parsed: ParsedSignature = { candidates: [], timestamp: undefined, pairs: undefined }
    for (const value of values) parse(value, parsed)
    return parsed
  }
}

type Decode = (item: string) => Buffer | undefined
type Parse = (value: string, into: ParsedSignature) => void

function parserOf(config: SignatureConfig, decode: Decode): Parse {
  switch (config.format) {
    case 'list': {
      const { itemSeparator } = config
      if (itemSeparator === undefined) {
        return (value, into) => addCandidate(into, decode(value.trim()))
      }
      return (value, into) => {
        for (const item of value.split(itemSeparator, ITEMS_MAX))
          addCandidate(into, decode(item.trim()))
      }
    }
    case 'positional': {
      const separator = config.itemSeparator ?? ','
      return (value, into) => {
        const [timestamp, ...items] = value.split(separator, ITEMS_MAX)
        into.timestamp ??= timestamp?.trim()
        for (const item of items) addCandidate(into, decode(item.trim()))
      }
    }
    case 'pairs':
      return pairsParser(config, decode)
  }
}

function pairsParser(config: SignatureConfig, decode: Decode): Parse {
  const itemSeparator = config.itemSeparator ?? ','
  const keySeparator = config.keySeparator ?? '='
  const signatureKey = config.signatureKey ?? 'v1'
  const timestampKey = config.timestampKey ?? 't'
  return (value, into) => {
    const pairs = new Map(into.pairs)
    let times = 0
    for (const item of value.split(itemSeparator, ITEMS_MAX)) {
      const at = item.indexOf(keySeparator)
      if (at < 0) continue
      const key = item.slice(0, at).trim()
      const text = item.slice(at + keySeparator.length).trim()
      if (key === signatureKey) addCandidate(into, decode(text))
      if (key === timestampKey) times += 1
      if (!pairs.has(key)) pairs.set(key, text)
    }
    into.pairs = pairs
    into.timestamp = pairs.get(timestampKey)
    // Two times in one signature are two headers joined: which belongs to which cannot be told.
    if (times > 1) into.candidates.length = 0
  }
}

function addCandidate(into: ParsedSignature, bytes: Buffer | undefined): void {
  if (bytes !== undefined && into.candidates.length < CANDIDATES_MAX) into.candidates.push(bytes)
}
