import { lazy, Suspense, useSyncExternalStore } from 'react'

import { onQuestion, questionNow } from '../with-password.ts'

const Question = lazy(() =>
  import('./password-question.tsx').then((page) => ({ default: page.PasswordQuestion })),
)

/** Stands on every page, and loads the question when it is asked. */
export function PasswordGate() {
  const question = useSyncExternalStore(onQuestion, questionNow)
  if (question === null) return null
  return (
    <Suspense>
      <Question answer={question.answer} />
    </Suspense>
  )
}
