import type { AccountRoute } from './account-route.ts'
import { JOIN_ROUTES } from './join-routes.ts'
import { KEY_ROUTES } from './key-routes.ts'
import { MEMBER_ROUTES } from './member-routes.ts'
import { ORGANISATION_ROUTES } from './organisation-routes.ts'
import { SIGN_IN_ROUTES } from './sign-in-routes.ts'

/** Every endpoint below `/auth`. */
export const ACCOUNT_ROUTES: readonly AccountRoute[] = [
  ...JOIN_ROUTES,
  ...SIGN_IN_ROUTES,
  ...ORGANISATION_ROUTES,
  ...MEMBER_ROUTES,
  ...KEY_ROUTES,
]
