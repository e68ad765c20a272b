import { useState, type ReactNode } from 'react'

import { OWNERS_ONLY, useProject } from '../shell/project.tsx'
import { Confirm } from './dialog.tsx'

/** For owners and admins, who are asked first. Members see the button, and why it is off. */
export function DangerAction({
  name,
  title,
  action,
  typed,
  run,
  children,
}: {
  name: string
  title: string
  action: string
  typed?: string
  run: () => Promise<unknown>
  children?: ReactNode
}) {
  const { mayAll } = useProject()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className="button danger"
        aria-disabled={!mayAll}
        title={mayAll ? undefined : OWNERS_ONLY}
        onClick={() => mayAll && setOpen(true)}
      >
        {name}
      </button>
      {isOpen && (
        <Confirm
          title={title}
          action={action}
          typed={typed}
          isDanger
          onClose={() => setOpen(false)}
          run={run}
        >
          {children}
        </Confirm>
      )}
    </>
  )
}
