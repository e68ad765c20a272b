import { useEffect, useRef, useState } from 'react'

/** A value that changes often, as it was at the last tick. */
export function useNowAndThen<T>(value: T, everyMs: number): T {
  const [shown, setShown] = useState(value)
  const latest = useRef(value)
  useEffect(() => {
    latest.current = value
  })
  useEffect(() => {
    const timer = setInterval(() => setShown(latest.current), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return shown
}
