import { queryClient } from '../../shell/query-client.ts'

/** After a sign-in everything is asked anew: nothing of another person may stay. */
export function enter(to = '/'): void {
  queryClient.clear()
  // Only a path of this origin: an address given from outside must not lead away.
  const isOwn = /^\/(?![/\\])/.test(to)
  location.assign(isOwn ? to : '/')
}
