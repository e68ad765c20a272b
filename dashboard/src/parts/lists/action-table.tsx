import type { ReactNode } from 'react'

/** A table that is a list of cards on a small screen, with the actions of each row in its last column. */
export function ActionTable({
  columns,
  label,
  children,
}: {
  columns: readonly string[]
  label?: string
  children: ReactNode
}) {
  return (
    <table className="table cards" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column}>{column}</th>
          ))}
          <th>
            <span className="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
