const KINDS = ['application/json', 'text/event-stream'] as const
export type AnswerKind = (typeof KINDS)[number]

/**
 * The first kind that a client takes by its `Accept`; undefined where it takes neither. A missing header takes anything, and
 * the most specific range decides about a kind (RFC 9110, 12.5.1).
 */
export function answerKind(accept: string | undefined): AnswerKind | undefined {
  const ranges = new Map(
    (accept?.trim() || '*/*').split(',').map((range) => {
      const [kind = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
      const weight = parameters.find((part) => part.startsWith('q='))?.slice('q='.length) ?? '1'
      return [kind, Number(weight) > 0]
    }),
  )
  return KINDS.find((kind) => {
    const [type = ''] = kind.split('/')
    return ranges.get(kind) ?? ranges.get(`${type}/*`) ?? ranges.get('*/*') ?? false
  })
}
