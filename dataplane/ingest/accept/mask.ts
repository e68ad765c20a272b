import { MASKED_VALUE } from '../../../core/delivery/delivery-headers.ts'
import { decodePart } from '../../../core/request/form.ts'
import { toBinary } from '../../../core/request/text.ts'
import { secretCarriers } from '../../../core/verify/config/verifier-config.ts'
import type { IngestRequest } from './event.ts'
import type { IngestSource } from './sources.ts'

/** The header pairs and query as they are kept: without a value that is the source's own secret. (decisions: Ingest) */
export function maskSecrets(
  source: IngestSource,
  request: IngestRequest,
): { headers: readonly [string, string][]; query: string } {
  const carriers = source.config === undefined ? [] : secretCarriers(source.config)
  if (carriers.length === 0) return { headers: request.rawHeaders, query: request.query }
  const headerNames = new Set(
    carriers.filter((one) => one.in === 'header').map((one) => one.name.toLowerCase()),
  )
  const queryNames = new Set(
    carriers.filter((one) => one.in === 'query').map((one) => toBinary(one.name)),
  )
  return {
    headers: request.rawHeaders.map(([name, value]): [string, string] => [
      name,
      headerNames.has(name.toLowerCase()) ? MASKED_VALUE : value,
    ]),
    query: queryNames.size === 0 ? request.query : maskQuery(request.query, queryNames),
  }
}

function maskQuery(query: string, names: ReadonlySet<string>): string {
  return query
    .split('&')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1)
      return names.has(decodePart(name)) ? `${name}=${MASKED_VALUE}` : pair
    })
    .join('&')
}
