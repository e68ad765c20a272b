import { ownPage } from '../../../../core/accounts/own-page.ts'
import { queryClient } from '../../session/query-client.ts'

/** After a sign-in everything is asked anew: nothing of another person may stay. */
export function enter(to = '/'): void {
  queryClient.clear()
  location.assign(ownPage(to) ?? '/')
}
