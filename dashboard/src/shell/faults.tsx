import { Link, type ErrorComponentProps } from '@tanstack/react-router'

import { PosternError } from '../api/client.ts'

export function NotFoundPage() {
  return (
    <main className="alone">
      <h1>There is no such page</h1>
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
      <h1>This page failed</h1>
      <p role="alert">{error instanceof Error ? error.message : String(error)}</p>
      <button type="button" className="button" onClick={() => location.reload()}>
        Load it again
      </button>
    </main>
  )
}
