import { Outlet, useParams } from '@tanstack/react-router'
import { Suspense } from 'react'

import { Skeleton } from '../parts/states.tsx'
import { useCurrent } from '../session/current.ts'
import { Bar } from './bar.tsx'
import { Hotkeys } from './keyboard/hotkeys.tsx'
import { OfflineStrip } from './offline.tsx'
import { Rail } from './rail.tsx'

/** The frame around every page that needs a session. */
export function InsidePage() {
  const current = useCurrent()
  const { projectId } = useParams({ strict: false })
  return (
    <div className="shell">
      <a href="#content" className="button unseen">
        Skip to the content
      </a>
      <Bar current={current} />
      <Rail current={current} />
      <main id="content" className="page" tabIndex={-1}>
        <OfflineStrip />
        <Suspense fallback={<Skeleton />}>
          <Outlet key={projectId ?? 'none'} />
        </Suspense>
      </main>
      <Hotkeys current={current} />
    </div>
  )
}
