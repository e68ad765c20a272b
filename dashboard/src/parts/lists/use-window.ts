import { useEffect, useState, type RefObject } from 'react'

const OVERSCAN = 8

/** Which rows of equal height are near the part of the page that is seen. */
export function useWindow(
  list: RefObject<HTMLElement | null>,
  count: number,
  height: number,
): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, 40])
  useEffect(() => {
    let frame = 0
    const measure = () => {
      frame = 0
      const top = list.current?.getBoundingClientRect().top ?? 0
      const first = Math.max(0, Math.floor(-top / height) - OVERSCAN)
      const last = Math.min(count, Math.ceil((innerHeight - top) / height) + OVERSCAN)
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]))
    }
    const later = () => {
      frame ||= requestAnimationFrame(measure)
    }
    measure()
    addEventListener('scroll', later, { passive: true })
    addEventListener('resize', later)
    return () => {
      cancelAnimationFrame(frame)
      removeEventListener('scroll', later)
      removeEventListener('resize', later)
    }
  }, [list, count, height])
  return [range[0], Math.min(range[1], count)]
}

/** Rows are two lines tall on a narrow screen. */
export function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia('(width < 720px)').matches)
  useEffect(() => {
    const media = matchMedia('(width < 720px)')
    const change = () => setNarrow(media.matches)
    media.addEventListener('change', change)
    return () => media.removeEventListener('change', change)
  }, [])
  return isNarrow
}
