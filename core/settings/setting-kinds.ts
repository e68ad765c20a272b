import { isIP } from 'node:net'

import { z } from 'zod'

import { cidrFault } from '../egress/address.ts'
import { type AllowRule, readAllowRules } from '../egress/allow-list.ts'
import { keyringFaults } from '../secrets/sealed.ts'

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

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(', ')}` })
}

export function matching(pattern: RegExp, message: string) {
  return z.string().regex(pattern, message)
}

const DOMAIN =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/** The part of an address behind its @, in lower case. */
export const mailDomain = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(matching(DOMAIN, 'must be a domain: mail.example.com'))

/** The address to listen on. */
export const host = z.string().refine((text) => text === 'localhost' || isIP(text) !== 0, {
  error:
    'must be an IP address: 127.0.0.1 for this machine alone, 0.0.0.0 for every network, or one of its addresses',
})

/** Comma-separated domains of email addresses; each bad one is a fault of its own. */
export const domains = z.string().transform((text, context) => {
  const items = text.split(',').flatMap((item) => item.trim().toLowerCase() || [])
  for (const item of items) {
    if (DOMAIN.test(item)) continue
    refuse(context, `${JSON.stringify(item)} must be a domain such as example.com`)
  }
  return items
})

const SENDER = /^(?:[^<>\p{Cc}]{0,100}<([^<>]+)>|([^<>\s]+))$/u

/** Whom mail is from: an address, with or without a name before it. */
export const mailSender = z.string().refine(
  (text) => {
    const found = SENDER.exec(text)
    return z
      .email()
      .max(254)
      .safeParse(found?.[1] ?? found?.[2]).success
  },
  { error: 'must be an address such as postern@example.com or Postern <postern@example.com>' },
)

const KUBERNETES_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const KUBERNETES_NAME_FAULT =
  'must be a name as Kubernetes has them: lower-case letters, digits and hyphens'

export const kubernetesName = matching(KUBERNETES_NAME, KUBERNETES_NAME_FAULT)

/** Comma-separated; an empty text is none. */
export const kubernetesNames = z
  .string()
  .transform((text) => text.split(',').flatMap((name) => name.trim() || []))
  .pipe(z.array(kubernetesName))

/** Rules of addresses, with commas between them or as a JSON list; each bad one is a fault of its own. */
export const allowRules = z.string().transform((text, context): AllowRule[] => {
  const { rules, faults } = readAllowRules(text)
  for (const message of faults) refuse(context, message)
  return rules
})

/** Comma-separated names out of a list; an empty text is none. */
export function namesOf<Name extends string>(names: readonly Name[]) {
  return z.string().transform((text, context): Name[] =>
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .flatMap((name) => {
        const found = names.find((one) => one === name)
        if (found === undefined)
          refuse(context, `${JSON.stringify(name)} must be one of ${names.join(', ')}`)
        return found ?? []
      }),
  )
}

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

export function refuse(context: z.core.$RefinementCtx, message: string): never {
  context.issues.push({ code: 'custom', message, input: context.value })
  return z.NEVER
}
