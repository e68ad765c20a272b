import { useState } from 'react'

/** Bars that lie side by side, from one to another. */
type Run = readonly [from: number, to: number]

/** The bars that are chosen. A choice of the pointer ends when the pointer leaves, one of keys when the focus does. */
interface Choice {
  run: Run
  by: 'keys' | 'pointer'
}

export const isWithin = (index: number, [one, other]: Run): boolean =>
  index >= Math.min(one, other) && index <= Math.max(one, other)

/** The run of bars that keys or the pointer chose, with the handlers of the chart and of each bar. The last bar is `end`. */
export function useChosenRun(
  end: number,
  open: (first: number, last: number) => void,
  narrow: (first: number, last: number) => void,
) {
  const [choice, setChoice] = useState<Choice>()
  const [isDragging, setDragging] = useState(false)
  const chosen = choice?.run
  const act = (run: Run, what: typeof open) => what(Math.min(...run), Math.max(...run))
  const leave = (by: Choice['by']) => setChoice((now) => (now?.by === by ? undefined : now))
  const point = (from: number, to: number) => {
    if (choice?.by === 'pointer' && from === choice.run[0] && to === choice.run[1]) return
    setChoice({ run: [from, to], by: 'pointer' })
  }
  const ofChart = {
    onKeyDown: (event: React.KeyboardEvent) => {
      const [from, at] = chosen ?? [end, end]
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: end }[event.key]
      if (to !== undefined) {
        event.preventDefault()
        const next = Math.max(0, Math.min(end, to))
        setChoice({ run: [event.shiftKey ? from : next, next], by: 'keys' })
      }
      if (event.key === 'Enter') act(chosen ?? [end, end], open)
    },
    onBlur: () => leave('keys'),
    onPointerLeave: () => {
      setDragging(false)
      leave('pointer')
    },
  }
  const ofBar = (index: number) => ({
    // Not "enter": a page that grows moves bars under a pointer that rests.
    onPointerMove: () => point(isDragging ? (chosen?.[0] ?? index) : index, index),
    onPointerDown: (event: React.PointerEvent) => {
      // A finger that scrolls is no brush.
      if (event.pointerType !== 'mouse' || event.button !== 0) return
      event.preventDefault()
      setDragging(true)
      point(index, index)
    },
    onPointerUp: () => {
      const run: Run = isDragging && chosen !== undefined ? [chosen[0], index] : [index, index]
      setDragging(false)
      // The chart that comes has other bars.
      setChoice(undefined)
      act(run, run[0] === index ? open : narrow)
    },
  })
  return { chosen, ofChart, ofBar }
}
