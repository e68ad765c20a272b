import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'

import { useKeys } from '../../parts/keys.ts'
import type { Current } from '../../session/current.ts'
import { OPEN_EVENT } from './overlays.ts'

const Palette = lazy(() => import('./palette.tsx').then((page) => ({ default: page.Palette })))
const Help = lazy(() => import('./help.tsx').then((page) => ({ default: page.Help })))

/** Keys that work on every page, and what they open. */
export function Hotkeys({ current }: { current: Current | undefined }) {
  const [open, setOpen] = useState<'palette' | 'help' | null>(null)
  const navigate = useNavigate()
  useEffect(() => {
    const show = (event: Event) => {
      if (!(event instanceof CustomEvent)) return
      setOpen(event.detail === 'help' ? 'help' : 'palette')
    }
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen('palette')
    }
    addEventListener(OPEN_EVENT, show)
    addEventListener('keydown', press)
    return () => {
      removeEventListener(OPEN_EVENT, show)
      removeEventListener('keydown', press)
    }
  }, [])
  const projectId = current?.project.id
  const go = (to: (typeof PLACES)[keyof typeof PLACES]) => () => {
    if (projectId !== undefined) void navigate({ to, params: { projectId } })
  }
  useKeys({
    '?': () => setOpen('help'),
    f: () => focusFirst('main [role="search"] select'),
    '.': () => focusFirst('main > header .buttons :is(a, button)'),
    ...Object.fromEntries(Object.entries(PLACES).map(([key, to]) => [`g ${key}`, go(to)])),
  })
  const close = () => setOpen(null)
  return (
    <Suspense>
      {open === 'palette' && current !== undefined && <Palette current={current} onClose={close} />}
      {open === 'help' && <Help onClose={close} />}
    </Suspense>
  )
}

const PLACES = {
  o: '/p/$projectId',
  e: '/p/$projectId/events',
  d: '/p/$projectId/deliveries',
  s: '/p/$projectId/sources',
  t: '/p/$projectId/destinations',
  c: '/p/$projectId/connections',
  n: '/p/$projectId/connectors',
  p: '/p/$projectId/operations',
  a: '/p/$projectId/alerts',
} as const

function focusFirst(selector: string): void {
  const found = document.querySelector(selector)
  if (found instanceof HTMLElement) found.focus()
}
