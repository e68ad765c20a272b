import { domainToASCII } from 'node:url'

/** An address that mail comes to: the source's mask id, and what stands behind a plus sign. */
export interface Recipient {
  address: string
  maskId: string
  tag: string | null
}

const LENGTH_MAX = 320

/** Whether an address is that of the person behind the server, which every domain of mail has. (RFC 5321 4.5.1) */
export function isPostmaster(address: string, domain: string): boolean {
  const at = address.lastIndexOf('@')
  const local = at === -1 ? address : address.slice(0, at)
  return local.toLowerCase() === 'postmaster' && (at === -1 || isOf(address.slice(at + 1), domain))
}

/** Reads an address of `domain`; undefined for one of another, which is never relayed to. */
export function recipientOf(address: string, domain: string): Recipient | undefined {
  const at = address.lastIndexOf('@')
  if (address.length > LENGTH_MAX || !isOf(address.slice(at + 1), domain)) return undefined
  const local = address.slice(0, at)
  const plus = local.indexOf('+')
  const mask = plus === -1 ? local : local.slice(0, plus)
  return {
    address,
    // Who writes an address may write it in capitals; a mask id has none.
    maskId: mask.toLowerCase(),
    tag: plus === -1 || plus === local.length - 1 ? null : local.slice(plus + 1),
  }
}

function isOf(given: string, domain: string): boolean {
  return given.toLowerCase() === domain || domainToASCII(given) === domain
}
