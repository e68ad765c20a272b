import { PosternError } from '../api/reach.ts'

interface Question {
  answer: (isConfirmed: boolean) => void
}

let question: Question | null = null
const listeners = new Set<() => void>()

export const questionNow = (): Question | null => question
export function onQuestion(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function put(next: Question | null): void {
  question = next
  for (const listener of listeners) listener()
}

/** Runs what may need a sign-in that is fresh: asks for the password when the server says so, and runs it once more. */
export async function withPassword<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof PosternError) || error.code !== 'PASSWORD_REQUIRED') throw error
    const isConfirmed = await new Promise<boolean>((resolve) => {
      put({
        answer: (given) => {
          put(null)
          resolve(given)
        },
      })
    })
    if (!isConfirmed) throw error
    return await act()
  }
}
