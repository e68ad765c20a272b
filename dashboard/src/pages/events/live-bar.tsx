import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

import { useLiveTail, type LiveTail } from '../../live/use-live-tail.ts'
import { counted, whole } from '../../parts/words/numbers.ts'
import { timeText } from '../../parts/words/time.tsx'
import type { EventSearch } from '../../routes/searches.ts'
import { useProject } from '../../session/project.tsx'

/** Rows move under the reader only at the top of the page. */
const NEAR_TOP_PX = 200

const WORDS = {
  off: 'Off',
  connecting: 'Connecting…',
  live: 'Live',
  waiting: 'The stream ended; coming back…',
  refused: 'The server refuses a further stream. Close one in another tab, or try again later.',
} as const

export function useTail(search: EventSearch): LiveTail {
  const { projectId } = useProject()
  const isAway = useIsAway()
  const { source: sourceId, status, type: eventType } = search
  const wish = search.live === true ? { projectId, sourceId, status, eventType } : null
  const tail = useLiveTail(wish, isAway)
  const client = useQueryClient()
  const { beginnings } = tail
  useEffect(() => {
    if (beginnings > 0) void client.invalidateQueries({ queryKey: [projectId, 'events'] })
  }, [beginnings, client, projectId])
  return tail
}

export function LiveBar({ tail }: { tail: LiveTail }) {
  const spoken = useSpoken(tail.rows.length + tail.held.length)
  const show = () => {
    tail.release()
    scrollTo({ top: 0 })
  }
  return (
    <div className="notice place stays">
      <span>
        {WORDS[tail.state]}
        {tail.state === 'live' && `: ${counted(tail.rows.length, 'new event')}`}
      </span>
      {tail.held.length > 0 && (
        <button type="button" className="button" onClick={show}>
          Show {whole(tail.held.length)} new
        </button>
      )}
      {tail.gap !== undefined && (
        <button type="button" className="button" onClick={tail.begin}>
          Missed {timeText(tail.gap.from)} to {timeText(tail.gap.until)}: load them
        </button>
      )}
      <span className="unseen" role="status">
        {spoken}
      </span>
    </div>
  )
}

function useIsAway(): boolean {
  const [isAway, setAway] = useState(false)
  useEffect(() => {
    const look = () => setAway(scrollY > NEAR_TOP_PX)
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [])
  return isAway
}

const SPOKEN_MS = 10_000

/** A screen reader hears one line in ten seconds, however many events arrive. */
function useSpoken(count: number): string {
  const [spoken, setSpoken] = useState('')
  const [told, setTold] = useState(count)
  useEffect(() => {
    const timer = setTimeout(() => {
      // There are fewer where the list was read again.
      if (count > told) setSpoken(counted(count - told, 'new event'))
      setTold(count)
    }, SPOKEN_MS)
    return () => clearTimeout(timer)
  }, [count, told])
  return spoken
}
