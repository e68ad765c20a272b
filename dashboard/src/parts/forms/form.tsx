import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'

import { PosternError } from '../../api/reach.ts'
import { ActionFault } from '../states.tsx'
import { withPassword } from '../with-password.ts'

/**
 * Runs an action of a form, and gives the faults that the server found to its fields. It runs until `done` is through, and
 * has its result then.
 */
export function useAction<T, G extends unknown[] = []>(
  act: (...given: G) => Promise<T>,
  done?: (result: T) => void | Promise<void>,
) {
  const mutation = useMutation({
    mutationFn: (given: G) => withPassword(() => act(...given)),
    ...(done === undefined ? {} : { onSuccess: done }),
  })
  const { error } = mutation
  return {
    run: (...given: G) => mutation.mutate(given),
    isRunning: mutation.isPending,
    error,
    result: mutation.data,
    fault: (member: string) => (error instanceof PosternError ? error.fault(member) : undefined),
  }
}

export function Form({
  action,
  submit,
  children,
  others,
  isDisabled = false,
}: {
  action: { run: () => void; isRunning: boolean; error: Error | null }
  submit: string
  children: ReactNode
  others?: ReactNode
  isDisabled?: boolean
}) {
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        action.run()
      }}
    >
      {children}
      <ActionFault error={action.error} />
      <div className="buttons">
        <button type="submit" className="button main" disabled={action.isRunning || isDisabled}>
          {action.isRunning ? 'Working…' : submit}
        </button>
        {others}
      </div>
    </form>
  )
}
