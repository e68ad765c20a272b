import { useEffect, useState } from 'react'

import { span } from './numbers.ts'

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const DAY_AND_YEAR = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
})
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** The time in this browser's zone; the whole of it with the zone on hover. */
export function Time({ at, withAge = false }: { at: string; withAge?: boolean }) {
  return (
    <time dateTime={at} title={FULL.format(new Date(at))}>
      {timeText(at)}
      {withAge && <Age at={at} />}
    </time>
  )
}

/** Today: the clock. Other days: the day before it, with its year unless it is the present one. */
export function timeText(at: string): string {
  const date = new Date(at)
  const now = new Date()
  const clock = CLOCK.format(date)
  if (date.toDateString() === now.toDateString()) return clock
  const day = date.getFullYear() === now.getFullYear() ? DAY : DAY_AND_YEAR
  return `${day.format(date)}, ${clock}`
}

function Age({ at }: { at: string }) {
  const now = useNow()
  return <span className="muted"> ({ageText(at, now)})</span>
}

/** How long ago, or how far ahead. */
function ageText(at: string, now: number): string {
  const ms = now - Date.parse(at)
  if (Math.abs(ms) < 1000) return 'now'
  return ms > 0 ? `${span(ms)} ago` : `in ${span(-ms)}`
}

/** The present, again every second, for what ticks. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
