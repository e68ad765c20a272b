import { memo, useEffect, useRef, useState, type ReactNode } from 'react'

import { useKeys } from '../keys.ts'
import { useIsNarrow, useWindow } from './use-window.ts'

const ROW = 40
const ROW_NARROW = 68
/** The bar and a notice lie over the top of a list that is scrolled. */
const COVERED = 128

/**
 * A list of rows of one height, of which only those in sight are in the page. It is one tab stop; j and k or the arrows
 * move, Enter opens, o opens in a new tab, x selects.
 */
export function Rows<T extends { id: string }>({
  rows,
  className,
  label,
  isDim = false,
  address,
  row,
  open,
  select,
  act,
}: {
  rows: readonly T[]
  /** Names the columns in CSS. */
  className: string
  label: string
  isDim?: boolean
  address: (item: T) => string
  row: (item: T) => ReactNode
  open: (item: T) => void
  select?: (item: T) => void
  /** Further keys that act on the active row. */
  act?: Readonly<Record<string, (item: T) => void>>
}) {
  const list = useRef<HTMLDivElement>(null)
  const height = useIsNarrow() ? ROW_NARROW : ROW
  const [first, last] = useWindow(list, rows.length, height)
  const [activeId, setActiveId] = useState<string>()
  const active = rows.findIndex(({ id }) => id === activeId)
  const move = (to: number) => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, to))]
    if (next !== undefined) setActiveId(next.id)
  }
  const current = rows[active]
  const onActive = (use: (item: T) => void) => () => {
    if (current !== undefined) use(current)
  }
  useKeys({
    j: () => move(active + 1),
    k: () => move(active - 1),
    Enter: onActive(open),
    o: onActive((item) => window.open(address(item), '_blank', 'noopener')),
    ...(select === undefined ? {} : { x: onActive(select) }),
    c: onActive((item) => void navigator.clipboard.writeText(item.id)),
    ...Object.fromEntries(Object.entries(act ?? {}).map(([key, use]) => [key, onActive(use)])),
  })
  useEffect(() => {
    if (active < 0 || list.current === null) return
    const top = list.current.getBoundingClientRect().top + active * height
    if (top < COVERED) scrollBy(0, top - COVERED)
    else if (top + height > innerHeight) scrollBy(0, top + height - innerHeight + 8)
  }, [active, height])
  return (
    <div
      ref={list}
      className={`rows ${className}`}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length}
      aria-busy={isDim}
      tabIndex={0}
      {...(active < 0 ? {} : { 'aria-activedescendant': `row-${activeId}` })}
      style={{ height: rows.length * height, opacity: isDim ? 0.6 : 1 }}
      onKeyDown={(event) => {
        const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: rows.length - 1 }[
          event.key
        ]
        if (to === undefined || event.target !== list.current) return
        event.preventDefault()
        move(to)
      }}
    >
      {rows.slice(first, last).map((item, index) => (
        <div
          key={item.id}
          id={`row-${item.id}`}
          role="row"
          aria-rowindex={first + index + 1}
          className={item.id === activeId ? 'row active' : 'row'}
          style={{ top: (first + index) * height, height }}
        >
          <Content item={item} row={row} />
        </div>
      ))}
    </div>
  )
}

/** While a list is scrolled only the rows that come into sight are made. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- memo forgets the parameter of the type
const Content = memo(contentOf) as typeof contentOf

function contentOf<T>({ item, row }: { item: T; row: (item: T) => ReactNode }): ReactNode {
  return row(item)
}
