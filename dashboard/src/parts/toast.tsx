import { useEffect, useRef, useSyncExternalStore, type ReactNode } from 'react'

const SHOWN_MS = 8000

interface Toast {
  id: number
  text: string
  action?: ReactNode
}

let toasts: readonly Toast[] = []
let nextId = 1
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/** Says what an action did, with a way to its result. */
export function toast(text: string, action?: ReactNode): void {
  const id = nextId++
  set([...toasts.slice(-2), { id, text, action }])
  setTimeout(() => set(toasts.filter((each) => each.id !== id)), SHOWN_MS)
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  const ref = useRef<HTMLDivElement>(null)
  const isShown = shown.length > 0
  // The top layer, so that a toast is seen above an open dialog.
  useEffect(() => {
    ref.current?.togglePopover(isShown)
  }, [isShown])
  return (
    <div ref={ref} popover="manual" className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, action }) => (
        <div key={id}>
          <span>{text}</span>
          {action}
        </div>
      ))}
    </div>
  )
}
