import { useEffect, useRef, useState } from 'react'

import { openApi, type Schemas, type StreamMessage } from '../api/client.ts'
import { follow, type FollowState, type Open } from './follow.ts'

type EventSummary = Schemas['EventSummary']

/** With more rows than these the list is read again, which has the older ones. */
const BUFFER = 5000

interface Wish {
  projectId: string
  sourceId?: string | undefined
  status?: Schemas['EventStatus'] | undefined
  eventType?: string | undefined
}

interface Gap {
  from: string
  until: string
}

interface Tail {
  state: FollowState | 'off'
  rows: readonly EventSummary[]
  /** Arrived while the reader was further down, and not yet among `rows`. */
  held: readonly EventSummary[]
  gap: Gap | undefined
  /** How often the rows began anew: a list that was read before lacks the events until then. */
  beginnings: number
}

export interface LiveTail extends Tail {
  /** Shows the rows that are held. */
  release: () => void
  /** Lets go of all rows, for the list to be read again. */
  begin: () => void
}

const OFF: Tail = { state: 'off', rows: [], held: [], gap: undefined, beginnings: 0 }

/**
 * New events as they are stored, newest first: one update of the page for each frame. While `isHeld` nothing moves under
 * the reader. A hidden tab has no stream, because browsers allow few connections; it goes on where it stopped.
 */
export function useLiveTail(wish: Wish | null, isHeld: boolean): LiveTail {
  const [tail, setTail] = useState<Tail>(OFF)
  const holds = useRef(isHeld)
  useEffect(() => {
    holds.current = isHeld
  }, [isHeld])
  const { projectId, sourceId, status, eventType } = wish ?? {}
  useEffect(() => {
    setTail({ ...OFF, state: projectId === undefined ? 'off' : 'connecting' })
    if (projectId === undefined) return
    const { streamEvents } = openApi(projectId)
    const open: Open = (behind) => streamEvents({ sourceId, status, eventType, ...behind })
    const position: { last: string | undefined } = { last: undefined }
    let stop = new AbortController()
    let arrived: EventSummary[] = []
    let frame = 0
    const flush = () => {
      frame = 0
      const fresh = arrived.toReversed()
      arrived = []
      setTail((before) => merged(before, fresh, holds.current))
    }
    const message = ({ type, data }: StreamMessage) => {
      if (type === 'gap') setTail((before) => missed(before, data))
      if (type !== 'event.created') return
      arrived.push(data)
      // A tail that is full begins anew, so that nothing is lost with the oldest.
      if (arrived.length > BUFFER) arrived.shift()
      frame ||= requestAnimationFrame(flush)
    }
    const state = (next: FollowState) => setTail((before) => ({ ...before, state: next }))
    const begin = () => setTail(anew)
    const watch = () => {
      stop.abort()
      if (document.hidden) return
      stop = new AbortController()
      void follow(open, { message, state, begin }, stop.signal, position)
    }
    watch()
    document.addEventListener('visibilitychange', watch)
    return () => {
      document.removeEventListener('visibilitychange', watch)
      cancelAnimationFrame(frame)
      stop.abort()
    }
  }, [projectId, sourceId, status, eventType])
  const release = () =>
    setTail((before) => ({ ...merged({ ...before, held: [] }, before.held, false) }))
  return { ...tail, release, begin: () => setTail(anew) }
}

/** The list is read again and has everything until now: rows that stayed would hide a place where some are missing. */
function anew(before: Tail): Tail {
  return { ...before, rows: [], held: [], gap: undefined, beginnings: before.beginnings + 1 }
}

/** The tail with the news, which are held while the reader is further down. */
export function merged(before: Tail, fresh: readonly EventSummary[], isHeld: boolean): Tail {
  // An event comes twice only across a resume, so that it stands near the front.
  const known = new Set(
    [...before.held.slice(0, 500), ...before.rows.slice(0, 500)].map(({ id }) => id),
  )
  const news = fresh.filter(({ id }) => !known.has(id))
  if (isHeld) return { ...before, held: [...news, ...before.held].slice(0, BUFFER) }
  const rows = [...news, ...before.held, ...before.rows]
  // When the hold was full, its oldest may be gone.
  return rows.length < BUFFER ? { ...before, held: [], rows } : anew(before)
}

/** A gap of unknown length is filled at once, any other when the reader asks. */
function missed(before: Tail, { from, until }: { [Bound in keyof Gap]: string | null }): Tail {
  return from === null || until === null ? anew(before) : { ...before, gap: { from, until } }
}
