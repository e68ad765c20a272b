/** An answer of an operation that lists. */
export interface Page {
  data: readonly unknown[]
  nextCursor: string | null
}

type List = (input: never) => Promise<Page>
type Item<L extends List> = Awaited<Awaited<ReturnType<L>>['data'][number]>

const PAGE_MAX = 100

/**
 * Every item of a list, page after page, `max` of them at most:
 * `for await (const event of all(postern.listEvents, { status: 'rejected' }, { max: 500 }))`.
 */
export async function* all<L extends List>(
  list: L,
  input?: Parameters<L>[0] & object,
  { max = Infinity }: { max?: number } = {},
): AsyncGenerator<Item<L>, void, undefined> {
  let left = max
  let cursor: string | undefined
  while (left > 0) {
    const asked: object = Object.assign(
      { limit: Math.min(left, PAGE_MAX) },
      input,
      cursor && { cursor },
    )
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the input of a list has a limit and a cursor
    const { data, nextCursor } = await list(asked as never)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- by the type of this list
    for (const item of data.slice(0, left)) yield item as Item<L>
    left -= data.length
    if (nextCursor === null) return
    cursor = nextCursor
  }
}
