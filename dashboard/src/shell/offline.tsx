import { useSyncExternalStore } from 'react'

function listen(changed: () => void): () => void {
  addEventListener('online', changed)
  addEventListener('offline', changed)
  return () => {
    removeEventListener('online', changed)
    removeEventListener('offline', changed)
  }
}

/** The browser knows when it has no network; old data stays on the page. */
export function OfflineStrip() {
  const isOnline = useSyncExternalStore(listen, () => navigator.onLine)
  if (isOnline) return null
  return (
    <p className="notice busy" role="status">
      There is no network. The page shows what it loaded last, and goes on by itself.
    </p>
  )
}
