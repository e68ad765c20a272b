import { useEffect, useRef } from 'react'

import { ActionFault } from '../states.tsx'
import { timeText } from '../words/time.tsx'

/**
 * Loads the next page when its end comes into sight. The button is for those who cannot scroll, and the way to try again
 * when a page failed: an end in sight would ask without a pause.
 */
export function More({
  query,
  cut,
}: {
  query: {
    hasNextPage: boolean
    isFetchingNextPage: boolean
    isFetchNextPageError: boolean
    error: Error | null
    fetchNextPage: () => unknown
  }
  cut?: string | undefined
}) {
  const button = useRef<HTMLButtonElement>(null)
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError } = query
  const isCut = cut !== undefined
  useEffect(() => {
    const end = button.current
    // A search that stopped early goes on only when the reader asks.
    if (end === null || isFetchingNextPage || isFetchNextPageError || isCut) return
    const watch = new IntersectionObserver(
      (entries) => {
        // A busy page tells of several frames at once: the last is how it is now.
        if (entries.at(-1)?.isIntersecting === true) query.fetchNextPage()
      },
      { rootMargin: '600px' },
    )
    watch.observe(end)
    return () => watch.disconnect()
  })
  if (!hasNextPage) return null
  return (
    <>
      {isFetchNextPageError && <ActionFault error={query.error} />}
      <div className="buttons">
        {isCut && <span>Reading took its whole time and has come to {timeText(cut)}.</span>}
        <button
          ref={button}
          type="button"
          className="button"
          disabled={isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {isFetchingNextPage ? 'Loading…' : isCut ? 'Search further back' : 'Load more'}
        </button>
      </div>
    </>
  )
}
