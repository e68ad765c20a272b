import type { ReactNode } from 'react'

import { Icon } from '../../parts/icon.tsx'

export function Frame({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="alone">
      <p className="status muted">
        <Icon name="gate" /> Postern
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  )
}
