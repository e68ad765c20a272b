import { useEffect, useRef, useState } from 'react'

import { Icon } from '../parts/icon.tsx'
import { useNames } from '../parts/names/names.ts'
import { span } from '../parts/words/numbers.ts'
import { StatusMark, StatusShape } from '../parts/words/status.tsx'
import { timeText } from '../parts/words/time.tsx'
import { apart, placeOf, rulesOf, type Rule } from './axis.ts'
import { answerOf, triggerWord } from './error-words.ts'
import { isSettled, lanesOf, longestMs, type Lane, type Mark, type Timeline } from './lanes.ts'

import './picture.css'

/** A mark is a target of at least this size. */
const MARK_PX = 30
const RULE_PX = 56

/** The way of an event as a picture: a lane for each delivery, time running to the right. The table below says the same. */
export function Picture({
  timeline,
  receivedAt,
  now,
  shown,
  show,
}: {
  timeline: Timeline
  receivedAt: string
  now: number
  shown: string | undefined
  show: (attemptId: string) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const start = Date.parse(receivedAt)
  const longest = longestMs(timeline, start, now)
  const axis = { start, longest, gap: MARK_PX / width }
  const rules = rulesOf(longest, RULE_PX / width)
  const nowPlace = isSettled(timeline) ? undefined : placeOf(now - start, longest)
  return (
    <div className="picture" role="group" aria-label="Timeline">
      <div className="axis">
        <span className="head">Received {timeText(receivedAt)}</span>
        <div className="track" ref={box} aria-hidden="true">
          {rules.map(({ place, label }) => (
            <span key={label} className="rule-label" style={{ left: percent(place) }}>
              {label}
            </span>
          ))}
        </div>
      </div>
      {lanesOf(timeline).map((lane, index) => (
        <LaneOf
          key={lane.delivery?.id ?? lane.connectionId ?? index}
          lane={lane}
          axis={axis}
          rules={rules}
          nowPlace={nowPlace}
          shown={shown}
          show={show}
        />
      ))}
    </div>
  )
}

interface Axis {
  start: number
  longest: number
  gap: number
}

function LaneOf({
  lane,
  axis,
  rules,
  nowPlace,
  shown,
  show,
}: {
  lane: Lane
  axis: Axis
  rules: readonly Rule[]
  nowPlace: number | undefined
  shown: string | undefined
  show: (attemptId: string) => void
}) {
  const { delivery, marks } = lane
  const placeAt = (at: string) => placeOf(Date.parse(at) - axis.start, axis.longest)
  const next = delivery?.nextAttemptAt ?? null
  const isOpen = delivery !== undefined && delivery.completedAt === null
  const places = apart(
    [
      ...marks.map(({ attempts: [first] }) => (first === undefined ? 0 : placeAt(first.startedAt))),
      ...(isOpen && next !== null ? [placeAt(next)] : []),
    ],
    axis.gap,
  )
  return (
    <div className="lane">
      <LaneHead lane={lane} />
      <div className="track">
        {rules.map(({ place, label }) => (
          <i key={label} className="rule" style={{ left: percent(place) }} />
        ))}
        {nowPlace !== undefined && (
          <i className="now" style={{ left: percent(nowPlace) }} title="now" />
        )}
        {marks.map((mark, index) => (
          <MarkButton
            key={mark.attempts[0]?.id ?? index}
            mark={mark}
            place={places[index] ?? 0}
            shown={shown}
            show={show}
          />
        ))}
        {isOpen && next !== null && (
          <span
            className="mark next"
            style={{ left: percent(places.at(-1) ?? 0) }}
            title={`Next attempt ${timeText(next)}`}
          >
            <StatusShape status="pending" title={`Next attempt ${timeText(next)}`} />
          </span>
        )}
        {delivery === undefined && (
          <span className="note muted">
            {lane.outcome === 'filtered'
              ? `its filter excluded the event${lane.failedPart === undefined ? '' : ` (${lane.failedPart})`}`
              : 'the connection was off'}
          </span>
        )}
      </div>
    </div>
  )
}

function LaneHead({ lane: { connectionId, destinationId, outcome, delivery } }: { lane: Lane }) {
  const { nameOf } = useNames()
  const status = delivery?.status ?? (outcome === 'filtered' ? 'filtered' : 'disabled')
  return (
    <div className="head">
      <span className="way">
        {connectionId === null ? 'Test' : nameOf(connectionId)}
        {destinationId !== null && (
          <>
            {' '}
            <Icon name="arrow" /> {nameOf(destinationId)}
          </>
        )}
      </span>
      <span>
        <StatusMark status={status} />
        {delivery !== undefined && delivery.trigger !== 'ingest' && (
          <span className="muted"> · {delivery.trigger}</span>
        )}
      </span>
    </div>
  )
}

function MarkButton({
  mark: { attempts, outcome },
  place,
  shown,
  show,
}: {
  mark: Mark
  place: number
  shown: string | undefined
  show: (attemptId: string) => void
}) {
  const [first] = attempts
  if (first === undefined) return null
  const isByHand = first.trigger === 'manual' || first.trigger === 'bulk'
  const name =
    attempts.length === 1
      ? `Attempt ${first.number}, ${triggerWord(first.trigger)}: ${outcome}, ${answerOf(first)} in ${span(first.durationMs)}`
      : `${attempts.length} attempts: ${outcome}, ${answerOf(first)}`
  return (
    <button
      type="button"
      className={`mark ${outcome}`}
      style={{ left: percent(place) }}
      aria-pressed={attempts.some(({ id }) => id === shown)}
      aria-label={name}
      title={name}
      onClick={() => show(first.id)}
    >
      <StatusShape status={outcome} title="" />
      <span aria-hidden="true">{attempts.length === 1 ? first.number : `${attempts.length}×`}</span>
      {isByHand && <Icon name="flag" />}
    </button>
  )
}

const percent = (place: number): string => `${(place * 100).toFixed(2)}%`

function useWidth(box: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(800)
  useEffect(() => {
    if (box.current === null) return
    const watch = new ResizeObserver(([entry]) =>
      setWidth(Math.max(120, entry?.contentRect.width ?? 800)),
    )
    watch.observe(box.current)
    return () => watch.disconnect()
  }, [box])
  return width
}
