import { mailDomainOf } from '../../../../../core/mail/mail-domain.ts'
import { decodeText } from '../../../../../core/request/text.ts'
import { readAddresses } from '../address/address-list.ts'
import { valuesOf, type Field } from './header-fields.ts'

/**
 * The domain of the author: of the one address in the one `From` header. Undefined where several are named, or something
 * beside an address: readers would differ in whom they show. (RFC 9989 5.3.1)
 */
export function authorDomainOf(fields: readonly Field[]): string | undefined {
  const [from, ...others] = valuesOf(fields, 'from')
  if (from === undefined || others.length > 0) return undefined
  const [mailbox, ...more] = readAddresses(decodeText(from))
  return mailbox === undefined || more.length > 0 ? undefined : mailDomainOf(mailbox.address)
}
