import { dkimVerify, dmarc, spf } from 'mailauth'

import { isReachable } from '../../../../core/egress/address.ts'
import { MAIL_LOOKUP_SECONDS } from '../../../../core/limits.ts'
import type { MailHead } from './head.ts'
import type { MailNames } from './mail-names.ts'
import type { Authentication } from './mail-payload.ts'

/** A mail with what its sender said of itself. */
interface Sent {
  mail: Buffer
  head: MailHead
  mailFrom: string
  helo: string
  remoteIp: string
}

const UNKNOWN_SPF = { result: 'none', domain: null }

/** Checks who sent a mail by SPF, DKIM and DMARC. Names that cannot be looked up in time give `temperror`. */
export async function authenticate(sent: Sent, names: MailNames): Promise<Authentication> {
  const late = AbortSignal.timeout(MAIL_LOOKUP_SECONDS * 1_000)
  const resolver = names.lookUpWithin(late)
  const [signed, sender] = await Promise.all([
    signaturesOf(sent, resolver),
    // The records of a domain name public addresses: they say nothing of a relay in one's own network.
    isReachable(sent.remoteIp, []) ? senderOf(sent, resolver) : UNKNOWN_SPF,
  ])
  const { headerFrom, fromFields, results } = signed
  const dkim = results.map(({ signingDomain, selector, status }) => ({
    domain: signingDomain ?? null,
    selector: selector ?? null,
    result: status.result,
  }))
  const policy = await dmarc({
    headerFrom,
    fromFields,
    spfDomains: sender.result === 'pass' && sender.domain !== null ? [sender.domain] : [],
    dkimDomains: results.flatMap(({ id, signingDomain: domain, status }) =>
      status.result === 'pass' && domain !== undefined
        ? [{ ...(id !== undefined && { id }), domain, ...alignmentOf(status) }]
        : [],
    ),
    resolver,
  })
  return {
    spf: sender,
    dkim,
    dmarc:
      policy === false
        ? { result: 'none', domain: null, policy: null }
        : { result: policy.status.result, domain: policy.domain, policy: policy.policy },
  }
}

/** Whether a check could not be made, so that trying again may end otherwise. */
export function isUncertain({ dkim, dmarc: policy }: Authentication): boolean {
  return policy.result === 'temperror' || dkim.some(({ result }) => result === 'temperror')
}

type Lookup = ReturnType<MailNames['lookUpWithin']>
type Signed = Pick<Awaited<ReturnType<typeof dkimVerify>>, 'headerFrom' | 'fromFields' | 'results'>

/** A mail without a signature has one result, `none`, which is no signature. */
async function signaturesOf({ mail, head, mailFrom }: Sent, resolver: Lookup): Promise<Signed> {
  const count = head.filter(([name]) => name.toLowerCase() === 'dkim-signature').length
  const { headerFrom, fromFields, results } = await dkimVerify(mail, { resolver, sender: mailFrom })
  return {
    headerFrom,
    fromFields,
    results: count === 0 ? [] : results,
  }
}

async function senderOf(
  { mailFrom, helo, remoteIp }: Sent,
  resolver: Lookup,
): Promise<Authentication['spf']> {
  const { status, domain } = await spf({ sender: mailFrom, ip: remoteIp, helo, resolver })
  return { result: status.result, domain }
}

function alignmentOf({ aligned, underSized }: Signed['results'][number]['status']): {
  aligned?: string | false
  underSized?: number
} {
  return {
    ...(aligned !== undefined && { aligned }),
    ...(underSized !== undefined && { underSized }),
  }
}
