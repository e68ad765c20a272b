import { Link } from '@tanstack/react-router'

/** Tabs that have an address: the same page with another `?tab`. The first is the address without one. */
export function PlaceTabs({
  label,
  tabs,
  shown,
}: {
  label: string
  tabs: readonly (readonly [string, string])[]
  shown: string
}) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(([tab, name], index) => (
        <Link
          key={tab}
          to="."
          activeOptions={{ exact: true, includeSearch: true }}
          search={index === 0 ? {} : { tab }}
          aria-current={tab === shown ? 'page' : undefined}
          replace
          resetScroll={false}
        >
          {name}
        </Link>
      ))}
    </nav>
  )
}
