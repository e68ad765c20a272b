import type { Route } from './route.ts'
import { BILLING_ROUTES } from './routes/billing.ts'
import { CONNECTION_ROUTES } from './routes/connections.ts'
import { DELIVERY_ROUTES } from './routes/deliveries.ts'
import { DESTINATION_ACTION_ROUTES } from './routes/destination-actions.ts'
import { DESTINATION_ROUTES } from './routes/destinations.ts'
import { EVENT_STREAM_ROUTES } from './routes/event-stream.ts'
import { EVENT_ROUTES } from './routes/events.ts'
import { FILTER_ROUTES } from './routes/filters.ts'
import { OPERATION_ROUTES } from './routes/operations.ts'
import { PROJECT_ROUTES } from './routes/projects.ts'
import { SOURCE_ROTATION_ROUTES } from './routes/source-rotation.ts'
import { SOURCE_ROUTES } from './routes/sources.ts'
import { STATISTICS_ROUTES } from './routes/statistics.ts'
import { UPSERT_ROUTES } from './routes/upserts.ts'
import { VERIFICATION_ROUTES } from './routes/verification.ts'

/** Every operation below `/v1`. */
export const ROUTES: readonly Route[] = [
  ...PROJECT_ROUTES,
  ...SOURCE_ROUTES,
  ...SOURCE_ROTATION_ROUTES,
  ...VERIFICATION_ROUTES,
  ...DESTINATION_ROUTES,
  ...DESTINATION_ACTION_ROUTES,
  ...CONNECTION_ROUTES,
  ...UPSERT_ROUTES,
  ...FILTER_ROUTES,
  ...EVENT_ROUTES,
  ...EVENT_STREAM_ROUTES,
  ...DELIVERY_ROUTES,
  ...BILLING_ROUTES,
  ...STATISTICS_ROUTES,
  ...OPERATION_ROUTES,
]
