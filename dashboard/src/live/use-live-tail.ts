import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../api/client.ts'
import { follow, type FollowState } from './follow.ts'
import type { Message } from './sse.ts'

type EventSummary = Schemas['EventSummary']

/** Older rows than these fall back to paging. */
const BUFFER = 5000

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
export function useLiveTail(
  address: string | null,
  isHeld: boolean,
): Tail & { release: () => void } {
  const [tail, setTail] = useState<Tail>(OFF)
  const holds = useRef(isHeld)
  useEffect(() => {
    holds.current = isHeld
  }, [isHeld])
  useEffect(() => {
    setTail({ ...OFF, state: address === null ? 'off' : 'connecting' })
    if (address === null) return
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
    const message = ({ event, data }: Message) => {
      if (event === 'gap') setTail((before) => ({ ...before, gap: gapOf(data) }))
      if (event !== 'event.created') return
      const stored: EventSummary = JSON.parse(data)
      arrived.push(stored)
      if (arrived.length > BUFFER) arrived.shift()
      frame ||= requestAnimationFrame(flush)
    }
    const state = (next: FollowState) => setTail((before) => ({ ...before, state: next }))
    const begin = () => setTail((before) => ({ ...before, beginnings: before.beginnings + 1 }))
    const watch = () => {
      stop.abort()
      if (document.hidden) return
      stop = new AbortController()
      void follow(address, { message, state, begin }, stop.signal, position)
    }
    watch()
    document.addEventListener('visibilitychange', watch)
    return () => {
      document.removeEventListener('visibilitychange', watch)
      cancelAnimationFrame(frame)
      stop.abort()
    }
  }, [address])
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

function gapOf(data: string): Gap | undefined {
  const said: { from?: string | null; until?: string | null } = JSON.parse(data)
  return typeof said.from === 'string' && typeof said.until === 'string'
    ? { from: said.from, until: said.until }
    : undefined
}
