import type { UseQueryResult } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'

import { PosternError } from '../api/reach.ts'
import { CopyButton } from './words/copy.tsx'
import { PageTitle } from './words/page-title.tsx'

/** The states that every page has, in one place: waiting, refused, missing, failed, there. */
export function Loaded<T>({
  query,
  children,
  noun = 'This',
  missing,
}: {
  query: UseQueryResult<T>
  children: (data: T) => ReactNode
  noun?: string
  /** Stands where it was not found, with more to say. */
  missing?: ReactNode
}) {
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && <Stale error={query.error} />}
        {children(query.data)}
      </>
    )
  }
  if (query.isError && isMissing(query.error)) return <Missing noun={noun}>{missing}</Missing>
  if (query.isError)
    return <Failed error={query.error} noun={noun} again={() => void query.refetch()} />
  return <Skeleton />
}

/** Shown after 150 ms, so that a quick answer does not flash. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {isLate && Array.from({ length: rows }, (_, index) => <i key={index} />)}
    </div>
  )
}

const isMissing = (error: Error): boolean => error instanceof PosternError && error.status === 404

export function Failed({ error, noun, again }: { error: Error; noun: string; again: () => void }) {
  if (isMissing(error)) return <Missing noun={noun} />
  if (error instanceof PosternError && error.status === 403)
    return <Forbidden message={error.message} />
  return (
    <div className="state" role="alert">
      <h2>This part could not be loaded</h2>
      <p>{error.message}</p>
      <RequestId error={error} />
      <button type="button" className="button" onClick={again}>
        Try again
      </button>
    </div>
  )
}

function Stale({ error }: { error: Error }) {
  return (
    <p className="notice busy" role="status">
      Shown as last loaded: {error.message}
    </p>
  )
}

function RequestId({ error }: { error: Error }) {
  if (!(error instanceof PosternError) || error.requestId === null) return null
  return (
    <p className="buttons muted">
      Request <code>{error.requestId}</code>
      <CopyButton text={error.requestId} label="Copy request id" />
    </p>
  )
}

/** The same for what never was and for what belongs to others. */
export function Missing({ noun, children }: { noun: string; children?: ReactNode }) {
  return (
    <div className="state">
      <PageTitle>{noun} was not found</PageTitle>
      <p className="muted">
        It is not in this project, or it was deleted or is past its retention.
      </p>
      {children}
    </div>
  )
}

function Forbidden({ message }: { message: string }) {
  return (
    <div className="state">
      <PageTitle>You may not see this</PageTitle>
      <p>{message}</p>
      <p className="muted">Ask an owner of the organisation.</p>
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** The refusal of an action, under its form. */
export function ActionFault({ error }: { error: Error | null }) {
  if (error === null) return null
  return (
    <div className="notice bad" role="alert">
      <span>
        {error.message}
        {error instanceof PosternError && error.fields.length > 0 && (
          <ul>
            {error.fields.map(({ path, message }) => (
              <li key={path + message}>
                <code>{path}</code>: {message}
              </li>
            ))}
          </ul>
        )}
      </span>
    </div>
  )
}
