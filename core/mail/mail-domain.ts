import { domainToASCII } from 'node:url'

const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/
const INTERNATIONAL = /^[\w.\u0080-\u{10ffff}-]+$/u

/**
 * The domain of an address, in lower case and in the letters that name servers know, without the dot of the root. Undefined
 * for an address without a domain that can have records.
 */
export function mailDomainOf(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  if (at === -1) return undefined
  const domain = address.slice(at + 1).replace(/\.$/, '')
  // As a URL the name would be decoded, and read as a number where it looks like one.
  const ascii = /^[\0-\x7f]*$/.test(domain)
    ? domain
    : INTERNATIONAL.test(domain)
      ? domainToASCII(domain)
      : ''
  const name = ascii.toLowerCase()
  return NAME.test(name) ? name : undefined
}
