import { BlockList, isIP } from 'node:net'

import { toBinary } from '../../request/text.ts'
import type { SecretSlots } from '../config/secrets.ts'
import type { ConfigOf } from '../config/verifier-config.ts'
import { decodeSecretBase64, decodedSlots, sameBytes, sha256 } from '../request/encoding.ts'
import { type Check, rejected, type Slot, VALID } from '../request/signed-request.ts'
import {
  childrenOf,
  documentOf,
  isSingleHeader,
  jsonPath,
  readerOf,
  scalarText,
  singleAt,
  type View,
  viewOf,
} from '../request/view.ts'

/** HTTP Basic with a fixed user name; the password is the secret. Throws a ConfigFault. */
export function compileBasicAuth(config: ConfigOf<'basic_auth'>, slots: SecretSlots): Check {
  const username = sha256(toBinary(config.username))
  const passwords = digestedSlots(slots)
  return (request) => {
    const value = request.headers['authorization']?.trim() ?? ''
    if (value === '') return rejected('missing_signature_header')
    const isSingle = isSingleHeader(request, 'authorization')
    const credentials = isSingle ? readCredentials(value) : undefined
    if (credentials === undefined) return rejected('malformed_signature_header')
    const isUser = sameBytes(sha256(credentials.username), username)
    const slot = slotOf(passwords, credentials.password)
    return isUser && slot !== undefined ? VALID[slot] : rejected('signature_mismatch')
  }
}

function readCredentials(value: string): { username: string; password: string } | undefined {
  if (value.slice(0, 6).toLowerCase() !== 'basic ') return undefined
  const text = decodeSecretBase64(value.slice(6).trim())?.toString('latin1')
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 0) return undefined
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** The secret itself, somewhere in the request; with `[*]` in a JSON name every element must hold it. */
export function compileSharedToken(config: ConfigOf<'shared_token'>, slots: SecretSlots): Check {
  const tokens = digestedSlots(slots)
  const readTokens = tokenReader(config.token)
  const isSingle = singleAt(config.token)
  const prefix = config.token.prefix ?? ''
  return (request) => {
    const view = viewOf(request)
    const values = readTokens(view)
    if (values.every((value) => value === undefined || value.trim() === '')) {
      return rejected('missing_signature_header')
    }
    if (!isSingle(view)) return rejected('malformed_signature_header')
    let worst: Slot = 'current'
    for (const value of values) {
      const token = withoutPrefix(value ?? '', prefix)
      if (token === undefined) return rejected('malformed_signature_header')
      const slot = slotOf(tokens, token)
      if (slot === undefined) return rejected('signature_mismatch')
      if (slot === 'previous') worst = slot
    }
    return VALID[worst]
  }
}

function tokenReader(
  token: ConfigOf<'shared_token'>['token'],
): (view: View) => (string | undefined)[] {
  if (token.in !== 'json' || !token.name.includes('[*]')) {
    const read = readerOf(token)
    return (view) => [read(view)]
  }
  const path = jsonPath(token.name)
  return (view) => elements(documentOf(view)?.value, path).map(scalarText)
}

/** Every value under a path whose `*` stands for each element of an array. */
function elements(value: unknown, path: readonly string[]): unknown[] {
  let values = [value]
  for (const key of path) values = values.flatMap((at) => childrenOf(at, key))
  return values
}

/** The rest of a value after its prefix. An authentication scheme (a prefix with a space) is read in any case. */
export function withoutPrefix(value: string, prefix: string): string | undefined {
  const start = value.slice(0, prefix.length)
  const matches = prefix.endsWith(' ')
    ? start.toLowerCase() === prefix.toLowerCase()
    : start === prefix
  return matches ? value.slice(prefix.length) : undefined
}

function digestedSlots(slots: SecretSlots): [Slot, Buffer][] {
  return decodedSlots(slots, 'utf8').map(([slot, secret]) => [slot, sha256(secret)])
}

function slotOf(digests: readonly [Slot, Buffer][], text: string): Slot | undefined {
  const given = sha256(text)
  return digests.find(([, digest]) => sameBytes(given, digest))?.[0]
}

/** Senders by address; says nothing about the body. */
export function compileIpAllowList({ cidrs }: ConfigOf<'ip_allow_list'>): Check {
  const allowed = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) allowed.addAddress(address, family)
    else allowed.addSubnet(address, Number(bits), family)
  }
  return ({ remoteIp }) => {
    const address =
      remoteIp.toLowerCase().startsWith('::ffff:') && remoteIp.includes('.')
        ? remoteIp.slice(7)
        : remoteIp
    const family = isIP(address)
    const isAllowed = family !== 0 && allowed.check(address, family === 6 ? 'ipv6' : 'ipv4')
    return isAllowed ? VALID.none : rejected('signature_mismatch')
  }
}
