const PAGE = 500

interface Page {
  limit: number
  /** The last id of the page before. */
  afterId: string | undefined
}

/** All rows of a list that is read in pages, in its order. */
export async function everyRow<T extends { id: string }>(
  read: (page: Page) => Promise<readonly T[]>,
): Promise<T[]> {
  const rows: T[] = []
  for (let isLast = false; !isLast;) {
    const page = await read({ limit: PAGE, afterId: rows.at(-1)?.id })
    rows.push(...page)
    isLast = page.length < PAGE
  }
  return rows
}
