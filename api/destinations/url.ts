import { domainToASCII } from 'node:url'

import { z } from 'zod'

/** Ours: the decisions give no bounds. */
const LENGTH_MAX = 2048

/** A name that DNS can look up. (RFC 1035, section 2.3.4; underscores are common) */
const HOST_LENGTH_MAX = 253
const LABEL = /^[a-z0-9_-]{1,63}$/

/**
 * An address that requests are sent to, kept in the form in which they are: with the host in ASCII, what a path cannot
 * hold escaped, and no fragment, which no request carries. (decisions: Configuration)
 */
export const Url = z
  .string()
  .superRefine((text, context) => {
    const message = faultOf(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .overwrite((text) => (faultOf(text) === undefined ? sentForm(new URL(text)) : text))
  .meta({ format: 'uri', maxLength: LENGTH_MAX })

/** The first thing that is wrong, which may be the cause of others. */
function faultOf(text: string): string | undefined {
  // A URL reader drops some of these and escapes others: what was meant cannot be told.
  if (/[\s\p{Cc}]/u.test(text)) return 'Expected no blanks or control characters'
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null) return 'Expected an http or https URL'
  if (url.username !== '' || url.password !== '')
    return 'Credentials belong in auth, not in the URL'
  if (url.port === '0') return 'Expected a port from 1 to 65535'
  if (!isHost(url.hostname)) return 'Expected a host that can be looked up'
  return Math.max(text.length, sentForm(url).length) > LENGTH_MAX
    ? `Expected at most ${LENGTH_MAX} characters`
    : undefined
}

function isHost(host: string): boolean {
  if (host.startsWith('[')) return true
  const name = domainToASCII(host).replace(/\.$/, '')
  return name.length <= HOST_LENGTH_MAX && name.split('.').every((label) => LABEL.test(label))
}

/** The origin of a stored URL, which may be older than today's rules. */
export function shownUrl(text: string): string {
  return sentForm(new URL(text))
}

function sentForm(url: URL): string {
  return url.origin + url.pathname + url.search
}
