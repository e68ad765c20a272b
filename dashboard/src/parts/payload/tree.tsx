import './tree.css'

/** Members deeper than this are closed at first, and a large list shows its beginning. */
const OPEN_DEPTH = 2
const SHOWN_MAX = 200

/** Longer texts, such as an attachment, would hold the page up. */
const TEXT_MAX = 10_000

export function Tree({ value }: { value: unknown }) {
  return (
    <div className="tree" tabIndex={0} role="region" aria-label="Body as a tree">
      <Branch name={undefined} value={value} depth={0} />
    </div>
  )
}

function Branch({
  name,
  value,
  depth,
}: {
  name: string | undefined
  value: unknown
  depth: number
}) {
  const label = name === undefined ? null : <span className="name">{name}: </span>
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="leaf">
        {label}
        <span className={value === null ? 'nothing' : typeof value}>{shortText(value)}</span>
      </div>
    )
  }
  const members = Object.entries(value)
  const summary = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`
  if (members.length === 0) {
    return (
      <div className="leaf">
        {label}
        {summary}
      </div>
    )
  }
  return (
    <details open={depth < OPEN_DEPTH}>
      <summary>
        {label}
        <span className="muted">{summary}</span>
      </summary>
      {members.slice(0, SHOWN_MAX).map(([key, member]) => (
        <Branch key={key} name={key} value={member} depth={depth + 1} />
      ))}
      {members.length > SHOWN_MAX && (
        <div className="leaf muted">{members.length - SHOWN_MAX} more; see Raw</div>
      )}
    </details>
  )
}

function shortText(value: unknown): string {
  if (typeof value !== 'string' || value.length <= TEXT_MAX) return JSON.stringify(value)
  return `${JSON.stringify(value.slice(0, TEXT_MAX))} and ${value.length - TEXT_MAX} characters more`
}
