import type { AccountRoute } from './account-route.ts'
import { ORGANISATION_ROUTES } from './organisation-routes.ts'
import { SIGN_IN_ROUTES } from './sign-in-routes.ts'

/** Every endpoint below `/auth`. */
export const ACCOUNT_ROUTES: readonly AccountRoute[] = [...SIGN_IN_ROUTES, ...ORGANISATION_ROUTES]
