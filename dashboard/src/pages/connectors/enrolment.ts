import { useSyncExternalStore } from 'react'

/** Enrolment keys that this page was shown, until it is closed: no answer shows them again. */
const keys = new Map<string, string>()
const listeners = new Set<() => void>()

export function keepEnrolment(connectorId: string, key: string): void {
  keys.set(connectorId, key)
  for (const listener of listeners) listener()
}

export function useEnrolment(connectorId: string): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => keys.get(connectorId),
  )
}
