import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { Empty, Loaded } from '../states.tsx'
import { PageTitle } from '../words/page-title.tsx'

/** A page of the resources of one kind, the first 100 by name. Its table is a list of cards on a small screen. */
export function NamedList<T extends { id: string }>({
  title,
  query,
  create,
  empty,
  columns,
  cells,
}: {
  title: string
  query: UseQueryResult<{ data: T[]; nextCursor: string | null }>
  /** The way to a new one. */
  create: ReactNode
  /** Said when there is none. */
  empty: { title: string; text: string }
  columns: readonly string[]
  /** The cells of a row, in the order of the columns. */
  cells: (item: T) => ReactNode
}) {
  return (
    <>
      <header>
        <PageTitle>{title}</PageTitle>
        <div className="buttons">{create}</div>
      </header>
      <Loaded query={query} noun="The list">
        {({ data, nextCursor }) =>
          data.length === 0 ? (
            <Empty title={empty.title}>
              <p>{empty.text}</p>
              {create}
            </Empty>
          ) : (
            <>
              <table className="table cards">
                <thead>
                  <tr>
                    {columns.map((column) => (
                      <th key={column}>{column}</th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {data.map((item) => (
                    <tr key={item.id}>{cells(item)}</tr>
                  ))}
                </tbody>
              </table>
              {nextCursor !== null && (
                <p className="muted">The first 100 by name are shown; Ctrl K opens others by id.</p>
              )}
            </>
          )
        }
      </Loaded>
    </>
  )
}
