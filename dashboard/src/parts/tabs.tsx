import { useId, type ReactNode } from 'react'

/** Tabs that are not places of their own. Arrow keys move between them. */
export function Tabs<T extends string>({
  label,
  tabs,
  shown,
  show,
  children,
}: {
  label: string
  tabs: readonly T[]
  shown: T
  show: (tab: T) => void
  children: ReactNode
}) {
  const id = useId()
  const move = (event: React.KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const next =
      step === undefined ? undefined : tabs.at((tabs.indexOf(shown) + step) % tabs.length)
    if (next === undefined) return
    event.preventDefault()
    show(next)
    document.getElementById(`${id}-${next}`)?.focus()
  }
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab}
            id={`${id}-${tab}`}
            type="button"
            role="tab"
            aria-selected={tab === shown}
            aria-controls={`${id}-panel`}
            tabIndex={tab === shown ? 0 : -1}
            onClick={() => show(tab)}
          >
            {tab}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${shown}`} className="form">
        {children}
      </div>
    </>
  )
}
