import type { ReactNode } from 'react'

import { Icon } from '../../../parts/icon.tsx'
import { PageTitle } from '../../../parts/words/page-title.tsx'

export function Frame({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="alone">
      <p className="status muted">
        <Icon name="gate" /> Postern
      </p>
      <PageTitle>{title}</PageTitle>
      {children}
    </main>
  )
}
