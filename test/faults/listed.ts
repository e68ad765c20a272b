import { z } from 'zod'

import type { Relay } from './relay.ts'

const PAGE = '100'
const Page = z.object({
  data: z.array(z.object({ id: z.string() })),
  nextCursor: z.string().nullable(),
})

/** The ids of all events that a list shows, page by page. */
export async function listed(relay: Relay, filter: Record<string, string>): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = null
  do {
    const query = new URLSearchParams({
      ...filter,
      limit: PAGE,
      ...(cursor !== null && { cursor }),
    })
    const page: z.infer<typeof Page> = Page.parse(
      await relay.api('GET', `/v1/events?${query.toString()}`),
    )
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor
  } while (cursor !== null)
  return ids
}
