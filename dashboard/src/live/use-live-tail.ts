import { useEffect, useRef, useState } from 'react'

import { openApi, type Schemas, type StreamMessage } from '../api/client.ts'
import { follow, type FollowState, type Open } from './follow.ts'

type EventSummary = Schemas['EventSummary']

/** Older rows than these fall back to paging. */
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

export interface Tail {
  state: FollowState | 'off'
  rows: readonly EventSummary[]
  /** Arrived while the reader was further down, and not yet among `rows`. */
  held: readonly EventSummary[]
  gap: Gap | undefined
  /** How often the stream began without a position: a list that was read before may lack events then. */
  beginnings: number
}

const OFF: Tail = { state: 'off', rows: [], held: [], gap: undefined, beginnings: 0 }

/**
 * New events as they are stored, newest first: one update of the page for each frame. While `isHeld` nothing moves under
 * the reader. A hidden tab has no stream, because browsers allow few connections; it goes on where it stopped.
 */
export function useLiveTail(wish: Wish | null, isHeld: boolean): Tail & { release: () => void } {
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
      if (type === 'gap') setTail((before) => ({ ...before, gap: gapOf(data) }))
      if (type !== 'event.created') return
      arrived.push(data)
      if (arrived.length > BUFFER) arrived.shift()
      frame ||= requestAnimationFrame(flush)
    }
    const state = (next: FollowState) => setTail((before) => ({ ...before, state: next }))
    const begin = () => setTail((before) => ({ ...before, beginnings: before.beginnings + 1 }))
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
  return { ...tail, release }
}

function merged(before: Tail, fresh: readonly EventSummary[], isHeld: boolean): Tail {
  // An event comes twice only across a resume, so that it stands near the front.
  const known = new Set(
    [...before.held.slice(0, 500), ...before.rows.slice(0, 500)].map(({ id }) => id),
  )
  const news = fresh.filter(({ id }) => !known.has(id))
  if (isHeld) return { ...before, held: [...news, ...before.held].slice(0, BUFFER) }
  return { ...before, held: [], rows: [...news, ...before.held, ...before.rows].slice(0, BUFFER) }
}

function gapOf({ from, until }: { from: string | null; until: string | null }): Gap | undefined {
  return typeof from === 'string' && typeof until === 'string' ? { from, until } : undefined
}
