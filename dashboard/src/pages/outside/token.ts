import { useEffect, useState } from 'react'

/**
 * The token of a link stands behind the `#`, which browsers send to no server. It is kept out of the history too. A link that is
 * opened where its page is shown already loads nothing: the browser changes the fragment alone.
 */
export function useLinkToken(): string {
  const [token, setToken] = useState(takeToken)
  useEffect(() => {
    const take = (): void => setToken((former) => takeToken() || former)
    addEventListener('hashchange', take)
    return () => removeEventListener('hashchange', take)
  }, [])
  return token
}

function takeToken(): string {
  const written = location.hash.slice(1)
  if (written !== '') history.replaceState(history.state, '', location.pathname)
  return written
}
