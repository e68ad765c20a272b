import type { Route } from './route.ts'
import { CONNECTION_ROUTES } from './routes/connections.ts'
import { DELIVERY_ROUTES } from './routes/deliveries.ts'
import { DESTINATION_ROUTES } from './routes/destinations.ts'
import { EVENT_ROUTES } from './routes/events.ts'
import { FILTER_ROUTES } from './routes/filters.ts'
import { PROJECT_ROUTES } from './routes/projects.ts'
import { SOURCE_ROUTES } from './routes/sources.ts'
import { VERIFICATION_ROUTES } from './routes/verification.ts'

/** Every operation below `/v1`. */
export const ROUTES: readonly Route[] = [
  ...PROJECT_ROUTES,
  ...SOURCE_ROUTES,
  ...VERIFICATION_ROUTES,
  ...DESTINATION_ROUTES,
  ...CONNECTION_ROUTES,
  ...FILTER_ROUTES,
  ...EVENT_ROUTES,
  ...DELIVERY_ROUTES,
]
