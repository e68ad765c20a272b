import { useState, type ReactNode } from 'react'

import { Dialog } from '../dialog.tsx'
import { Copyable } from '../words/copy.tsx'
import { CheckField } from './fields.tsx'

/** A secret that is shown this once: closed only by someone who says that it is kept. */
export function SecretDialog({
  secret,
  name,
  onClose,
  children,
}: {
  secret: string
  name: string
  onClose: () => void
  children?: ReactNode
}) {
  const [isStored, setStored] = useState(false)
  return (
    <Dialog title={`Copy the ${name} now`} onClose={onClose}>
      <p>It is shown this once. Whoever loses it makes another.</p>
      <Copyable text={secret} name={name} />
      {children}
      <CheckField label="I have stored it" value={isStored} onChange={setStored} />
      <div className="buttons">
        <button type="button" className="button main" disabled={!isStored} onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
