import { z } from 'zod'

import { mailDomainOf } from '../mail/mail-domain.ts'
import { parsedOf } from '../request/parsed.ts'
import type { ConfigOf } from './config/verifier-config.ts'
import { rejected, VALID, type Check } from './request/signed-request.ts'

/** The parts of a mail's body that its verifier reads: ingest wrote them, after it had looked the names up. */
const Mail = z.object({
  from: z.object({ address: z.string() }).nullable(),
  authentication: z.object({
    dkim: z.array(z.object({ domain: z.string().nullable(), result: z.string() })),
    dmarc: z.object({ result: z.string(), domain: z.string().nullable() }),
  }),
})

/** Judges a mail by what its authentication came to. */
export function compileEmail({ require, allowedDomains }: ConfigOf<'email'>): Check {
  if (require === 'none' && allowedDomains === undefined) return () => VALID.none
  const allowed = allowedDomains && new Set(allowedDomains)
  const isAllowed = (domain: string | null): boolean =>
    allowed === undefined || (domain !== null && allowed.has(domain.toLowerCase()))
  return (request) => {
    const mail = Mail.safeParse(parsedOf(request).json).data
    if (mail === undefined) return rejected('signature_mismatch')
    const { dkim, dmarc } = mail.authentication
    if (require === 'dkim') {
      if (dkim.length === 0) return rejected('missing_signature_header')
      const isSigned = dkim.some(({ result, domain }) => result === 'pass' && isAllowed(domain))
      return isSigned ? VALID.none : rejected('signature_mismatch')
    }
    const isVouched = require === 'none' || dmarc.result === 'pass'
    // The domain that was authenticated must be the one that is shown.
    const isShown = dmarc.domain !== null && mailDomainOf(mail.from?.address ?? '') === dmarc.domain
    return isVouched && isShown && isAllowed(dmarc.domain)
      ? VALID.none
      : rejected('signature_mismatch')
  }
}
