import { accessSync } from 'node:fs'
import { isIP } from 'node:net'

import { z } from 'zod'

import { cidrFault } from '../egress/address.ts'
import { keyringFaults } from '../secrets/sealed.ts'
import { whyUnusable } from './setting-files.ts'

const PORT_MAX = 65_535

/** A port: a whole number. 0 takes a free one. */
export const port = z.string().transform((text, context) => {
  // In a pod, Kubernetes describes a Service called `api` by API_PORT=tcp://10.0.0.1:80.
  if (text.startsWith('tcp://')) {
    return refuse(
      context,
      'must be a port from 0 to 65535. Kubernetes sets it for a Service of that name: set it in the pod, or set enableServiceLinks: false',
    )
  }
  return numberOf(text, [0, PORT_MAX]) ?? refuse(context, `must be a port from 0 to ${PORT_MAX}`)
})

/** A whole number in digits alone: `0x10`, `1e3` and `10MB` are none. */
export function whole(min: number, max: number) {
  return z
    .string()
    .transform(
      (text, context) =>
        numberOf(text, [min, max]) ??
        refuse(context, `must be a whole number from ${min} to ${max}, in digits alone`),
    )
}

function numberOf(text: string, [min, max]: readonly [number, number]): number | undefined {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  return number >= min && number <= max ? number : undefined
}

/** Text without control characters. */
export function plainText(max: number) {
  return z.string().check(({ value, issues }) => {
    if (value.length > max) {
      issues.push({ code: 'custom', message: `must have ${max} characters at most`, input: value })
    } else if (/\p{Cc}/u.test(value)) {
      issues.push({ code: 'custom', message: 'must have no control characters', input: value })
    }
  })
}

export const existingFile = z.string().check(({ value, issues }) => {
  try {
    accessSync(value)
  } catch (error) {
    issues.push({ code: 'custom', message: whyUnusable(error), input: value })
  }
})

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` })
}

export function matching(pattern: RegExp, message: string) {
  return z.string().regex(pattern, message)
}

/** The address to listen on. */
export const host = z.string().refine((text) => text === 'localhost' || isIP(text) !== 0, {
  error:
    'must be an IP address: 127.0.0.1 for this machine alone, 0.0.0.0 for every network, or one of its addresses',
})

/** Comma-separated addresses and CIDRs; each bad one is a fault of its own. */
export function cidrs({ everything }: { everything: boolean }) {
  return z.string().transform((text, context) => {
    const items = text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
    for (const item of items) {
      const isAll = !everything && item.endsWith('/0')
      const fault =
        cidrFault(item) ??
        (isAll ? 'believes every sender there is: name the proxies alone' : undefined)
      if (fault !== undefined) refuse(context, `${JSON.stringify(item)} ${fault}`)
    }
    return items
  })
}

/** POSTERN_ENCRYPTION_KEY, still as text. */
export const encryptionKey = z.string().transform((text, context) => {
  for (const fault of keyringFaults(text)) refuse(context, fault)
  return text
})

/** The address of a server, with or without credentials, as it is given. */
export function serverUrl(schemes: readonly string[], path: 'database' | 'none') {
  const example = `${schemes[0]}://user:password@host${path === 'none' ? '' : '/database'}`
  return z.string().transform((text, context) => {
    const url = URL.parse(text)
    if (url === null || /[\s\p{Cc}]/u.test(text) || isCutShort(url)) {
      return refuse(
        context,
        `must be a URL such as ${example}; /, @, #, ? and % in a password are written as %2F, %40, %23, %3F and %25`,
      )
    }
    if (!schemes.includes(url.protocol.slice(0, -1))) {
      return refuse(
        context,
        `must begin with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
      )
    }
    if (!canDecode(url.username) || !canDecode(url.password)) {
      return refuse(context, 'has a % in its user or password that is no escape: write it as %25')
    }
    if (path === 'none') {
      if (url.hostname === '') return refuse(context, `must name a host: ${example}`)
      if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
        return refuse(context, 'must end after the host and the port')
      }
    }
    return text
  })
}

/** `https://relay.example.com`: what comes before the path, in the form that URLs are compared in. */
export const origin = originOf(/^https?:$/, 'https://relay.example.com')

/** The same of the gateway, as agents dial it: `wss://gateway.example.com`. */
export const gatewayOrigin = originOf(/^(?:https?|wss?):$/, 'wss://gateway.example.com').transform(
  (text) => text.replace(/^http/, 'ws'),
)

function originOf(schemes: RegExp, example: string) {
  return z.string().transform((text, context) => {
    const url = URL.parse(text)
    if (url === null || !schemes.test(url.protocol)) {
      return refuse(context, `must be an origin such as ${example}`)
    }
    if (url.username !== '' || url.password !== '') {
      return refuse(context, 'must hold no user and no password')
    }
    const plain = `${url.protocol}//${url.host}`
    if (!/^\/*$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
      return refuse(context, `must end after the host and the port: ${plain}`)
    }
    return plain
  })
}

/** A URL without what may be secret in it: password, query. Undefined when it cannot be told what is. */
export function withoutSecrets(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || url.host === '' || isCutShort(url)) return undefined
  const credentials = url.username === '' && url.password === '' ? '' : '***@'
  return `${url.protocol}//${credentials}${url.host}${url.pathname}`
}

/** Whether a /, ? or # in the password ended the host: the rest of the password stands behind it. */
function isCutShort({ pathname, search, hash }: URL): boolean {
  return hash !== '' || `${pathname}${search}`.includes('@')
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function refuse(context: z.core.$RefinementCtx, message: string): never {
  context.issues.push({ code: 'custom', message, input: context.value })
  return z.NEVER
}
