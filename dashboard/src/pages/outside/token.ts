import { useState } from 'react'

/** The token of a link stands behind the `#`, which browsers send to no server. It is kept out of the history too. */
export function useLinkToken(): string {
  const [token] = useState(() => {
    const written = location.hash.slice(1)
    if (written !== '') history.replaceState(history.state, '', location.pathname)
    return written
  })
  return token
}
