import { useState, type ReactNode } from 'react'

import { OWNERS_ONLY, useProject } from '../session/project.tsx'
import { Confirm } from './dialog.tsx'

/** For owners and admins, who are asked first. Members see the button, and why it is off. */
export function DangerAction({
  name,
  title,
  action,
  typed,
  isAllowed,
  run,
  children,
}: {
  name: string
  title: string
  action: string
  typed?: string
  /** Whether this person may; owners and admins unless told. */
  isAllowed?: boolean
  run: () => Promise<unknown>
  children?: ReactNode
}) {
  const { mayAll } = useProject()
  const may = isAllowed ?? mayAll
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className="button danger"
        aria-disabled={!may}
        title={may ? undefined : OWNERS_ONLY}
        onClick={() => may && setOpen(true)}
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
