import { AGENT_TOKEN_ROUTES } from '../agents/agent-token-routes.ts'
import type { AccountRoute } from './account-route.ts'
import { KEY_ROUTES } from './keys/key-routes.ts'
import { MEMBER_ROUTES } from './organisations/member-routes.ts'
import { ORGANISATION_ROUTES } from './organisations/organisation-routes.ts'
import { PROVIDER_ROUTES } from './provider/provider-routes.ts'
import { JOIN_ROUTES } from './sign-in/join-routes.ts'
import { SIGN_IN_ROUTES } from './sign-in/sign-in-routes.ts'
import { VERIFY_ROUTES } from './sign-in/verify-routes.ts'

/** Every endpoint below `/auth`. */
export const ACCOUNT_ROUTES: readonly AccountRoute[] = [
  ...JOIN_ROUTES,
  ...SIGN_IN_ROUTES,
  ...VERIFY_ROUTES,
  ...PROVIDER_ROUTES,
  ...ORGANISATION_ROUTES,
  ...MEMBER_ROUTES,
  ...KEY_ROUTES,
  ...AGENT_TOKEN_ROUTES,
]
