import { dkimVerify, dmarc, spf } from 'mailauth'

import { isReachable } from '../../../../core/egress/address.ts'
import { MAIL_LOOKUP_SECONDS } from '../../../../core/limits.ts'
import type { MailHead } from './head.ts'
import type { MailNames } from './mail-names.ts'
import type { Authentication, MailFault } from './mail-payload.ts'
import { authorDomainOf } from './sender/author.ts'
import { hasRepeated, valuesOf } from './sender/header-fields.ts'
import { objectionTo, signedNames, type Signature } from './sender/objection.ts'

/** A mail with what its sender said of itself. */
interface Sent {
  mail: Buffer
  head: MailHead
  mailFrom: string
  helo: string
  remoteIp: string
}

const UNKNOWN_SPF = { result: 'none', domain: null }

/**
 * Checks who sent a mail by SPF, DKIM and DMARC. Names that cannot be looked up in time give `temperror`. `idle` is called
 * once or more often when all that is left waits for names.
 */
export async function authenticate(
  sent: Sent,
  names: MailNames,
  idle: () => void,
): Promise<Authentication> {
  const late = AbortSignal.timeout(MAIL_LOOKUP_SECONDS * 1_000)
  const resolver = names.lookUpWithin(late)
  const keyOf: Lookup = async (name, type) => {
    idle()
    return await resolver(name, type)
  }
  const [signatures, sender] = await Promise.all([
    signaturesOf(sent, keyOf).finally(idle),
    // The records of a domain name public addresses: they say nothing of a relay in one's own network.
    isReachable(sent.remoteIp, []) ? senderOf(sent, resolver) : UNKNOWN_SPF,
  ])
  const fault = faultOf(sent.head)
  const dkim = signatures.map((signature) => judged(signature, sent, fault))
  const aligned = signatures.filter((_, n) => dkim[n]?.result === 'pass')
  return {
    fault,
    spf: sender,
    dkim,
    dmarc: await policyOf({ sent, fault, sender, aligned, resolver }),
  }
}

/** Something about the mail itself that leaves open who wrote it. */
function faultOf(head: MailHead): MailFault | null {
  if (hasRepeated(head)) return 'header_repeated'
  return authorDomainOf(head) === undefined ? 'no_single_author' : null
}

/** A signature that is valid by itself and counts for nothing has the result `policy`. (RFC 8601 2.7.1) */
function judged(
  signature: Signature,
  { mail, head: fields }: Sent,
  fault: MailFault | null,
): Authentication['dkim'][number] {
  const { signingDomain, selector, status } = signature
  const about = { domain: signingDomain ?? null, selector: selector ?? null }
  const { result } = status
  if (result !== 'pass') return { ...about, result, reason: null, signed: [] }
  const reason = fault ?? objectionTo(signature, { mail, fields, nowMs: Date.now() }) ?? null
  const signed = signedNames(signature)
  return { ...about, result: reason === null ? 'pass' : 'policy', reason, signed }
}

/** DMARC of the author's domain, which is the one that the event shows. */
async function policyOf(about: {
  sent: Sent
  fault: MailFault | null
  sender: Authentication['spf']
  aligned: readonly Signature[]
  resolver: Lookup
}): Promise<Authentication['dmarc']> {
  const { sender, aligned, resolver } = about
  const domain = authorDomainOf(about.sent.head)
  if (domain === undefined) return { result: 'none', domain: null, policy: null }
  if (about.fault !== null) return { result: 'permerror', domain, policy: null }
  const policy = await dmarc({
    // The author is read once: mailauth would read the header in its own way.
    headerFrom: [`author@${domain}`],
    spfDomains: sender.result === 'pass' && sender.domain !== null ? [sender.domain] : [],
    dkimDomains: aligned.flatMap(({ signingDomain }) =>
      signingDomain === undefined ? [] : [{ domain: signingDomain }],
    ),
    resolver,
  })
  return policy === false
    ? { result: 'none', domain, policy: null }
    : { result: policy.status.result, domain, policy: policy.policy }
}

/** Whether a check could not be made, so that trying again may end otherwise. */
export function isUncertain({ fault, dkim, dmarc: policy }: Authentication): boolean {
  return (
    fault === null &&
    (policy.result === 'temperror' || dkim.some(({ result }) => result === 'temperror'))
  )
}

type Lookup = ReturnType<MailNames['lookUpWithin']>

/** A mail without a signature has one result, `none`, which is no signature. */
async function signaturesOf({ mail, head }: Sent, resolver: Lookup): Promise<Signature[]> {
  if (valuesOf(head, 'dkim-signature').length === 0) return []
  // SHA-1 is refused by RFC 8301.
  const { results } = await dkimVerify(mail, { resolver, rejectRsaSha1: true })
  return results
}

async function senderOf(
  { mailFrom, helo, remoteIp }: Sent,
  resolver: Lookup,
): Promise<Authentication['spf']> {
  const { status, domain } = await spf({ sender: mailFrom, ip: remoteIp, helo, resolver })
  return { result: status.result, domain }
}
