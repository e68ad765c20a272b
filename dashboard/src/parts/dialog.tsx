import { useEffect, useId, useRef, useState, type ReactNode } from 'react'

import { ActionFault } from './states.tsx'
import { withPassword } from './with-password.ts'

/** A native modal dialog: the browser keeps the focus inside, and Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ReactNode
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    if (dialog !== null && !dialog.open) dialog.showModal()
  }, [])
  return (
    <dialog ref={ref} aria-labelledby={id} onClose={onClose}>
      <div className="inside">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

/** Asks before an action. With `typed` the reader must type it first. */
export function Confirm({
  title,
  action,
  children,
  typed,
  isReady = true,
  isDanger = false,
  onClose,
  run,
}: {
  title: string
  action: string
  children?: ReactNode
  typed?: string | undefined
  isReady?: boolean
  isDanger?: boolean
  onClose: () => void
  run: () => Promise<unknown>
}) {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [text, setText] = useState('')
  const id = useId()
  const submit = (event: React.SubmitEvent) => {
    event.preventDefault()
    setRunning(true)
    setError(null)
    withPassword(run).then(onClose, (failure: unknown) => {
      setRunning(false)
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    })
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        {children}
        {typed !== undefined && (
          <div className="field">
            <label htmlFor={id}>
              Type <code>{typed}</code> to go on
            </label>
            <input id={id} value={text} onChange={(event) => setText(event.target.value)} />
          </div>
        )}
        <ActionFault error={error} />
        <div className="buttons">
          <button
            type="submit"
            className={isDanger ? 'button danger' : 'button main'}
            disabled={isRunning || !isReady || (typed !== undefined && text !== typed)}
          >
            {isRunning ? 'Working…' : action}
          </button>
          <button type="button" className="button" onClick={onClose}>
            Leave it
          </button>
        </div>
      </form>
    </Dialog>
  )
}
