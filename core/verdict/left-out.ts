import type { ExplainedEvent } from './facts.ts'

/** Methods of requests that say what they say in their address. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])

type Came = Pick<ExplainedEvent, 'method' | 'hasBody' | 'hasQuery' | 'deliveries'>

/**
 * A sentence about the parts of a request that its deliveries leave out, which have the method of their destination, the body
 * and no query. Empty where they leave out nothing, and for a request with a body, whose query is its sender's business.
 */
export function leftOut({ method, hasBody, hasQuery, deliveries }: Came): string {
  if (hasBody && !BODILESS.has(method)) return ''
  const methods = [...new Set(deliveries.map(({ destination }) => destination?.method))]
  // The method of a destination that was deleted is not known.
  const isAlike = !BODILESS.has(method) && methods.every((one = method) => one === method)
  if (isAlike && !hasQuery) return ''
  const by =
    methods.filter((one) => one !== undefined).join(' and ') || 'the method of its destination'
  const parts = [
    ...(hasBody ? [] : ['with an empty body']),
    ...(hasQuery ? ['without its query'] : []),
  ].join(' and ')
  const came = hasBody ? `It came by ${method}` : `It came by ${method} without a body`
  return ` ${came}: it is delivered by ${by}${parts === '' ? '' : `, ${parts}`}.`
}
