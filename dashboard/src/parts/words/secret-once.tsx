import type { ReactNode } from 'react'

import { CopyButton } from './copy.tsx'

/** A secret that no later answer shows. */
export function SecretOnce({
  secret,
  name,
  children,
}: {
  secret: string
  name: string
  children?: ReactNode
}) {
  return (
    <div className="notice place" role="status">
      <span>
        <strong>Copy the {name} now: it is shown this once.</strong> {children}
        <br />
        <code>{secret}</code>
      </span>
      <div className="buttons">
        <CopyButton text={secret} label={`Copy the ${name}`} />
      </div>
    </div>
  )
}
