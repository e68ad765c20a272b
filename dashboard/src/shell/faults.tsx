import { Link, type ErrorComponentProps } from '@tanstack/react-router'

import { PosternError } from '../api/reach.ts'
import { PageTitle } from '../parts/words/page-title.tsx'

export function NotFoundPage() {
  return (
    <main className="alone">
      <PageTitle>There is no such page</PageTitle>
      <p>The address may be mistyped, or the page has another name.</p>
      <Link to="/" className="button">
        Go to the overview
      </Link>
    </main>
  )
}

/** A fault of the page itself, or of the first question that everything depends on. */
export function PageFault({ error }: ErrorComponentProps) {
  // The session has ended; the page is on its way to sign-in.
  if (error instanceof PosternError && error.status === 401) return null
  return (
    <main className="alone">
      <PageTitle>This page failed</PageTitle>
      <p role="alert">{error instanceof Error ? error.message : String(error)}</p>
      <button type="button" className="button" onClick={() => location.reload()}>
        Load it again
      </button>
    </main>
  )
}
