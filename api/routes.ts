import { ALERT_ENDPOINT_ROUTES } from './alerts/endpoint-routes.ts'
import { ALERT_MAIL_ROUTES } from './alerts/mail-routes.ts'
import { MUTE_ROUTES } from './alerts/mute-routes.ts'
import { ALERT_ROUTES } from './alerts/routes.ts'
import { BILLING_ROUTES } from './billing/routes.ts'
import { FILTER_ROUTES } from './connections/filter-routes.ts'
import { CONNECTION_ROUTES } from './connections/routes.ts'
import { CONNECTION_UPSERT_ROUTES } from './connections/upsert.ts'
import { AGENT_ROUTES } from './connectors/agent-routes.ts'
import { REPLICA_ROUTES } from './connectors/replica-routes.ts'
import { CONNECTOR_ROUTES } from './connectors/routes.ts'
import { CONNECTOR_UPSERT } from './connectors/upsert.ts'
import { DELIVERY_ROUTES } from './deliveries/routes.ts'
import { DESTINATION_ACTION_ROUTES } from './destinations/action-routes.ts'
import { DESTINATION_ROUTES } from './destinations/routes.ts'
import { DESTINATION_UPSERT_ROUTES } from './destinations/upsert.ts'
import { EVENT_ROUTES } from './events/routes.ts'
import { EVENT_STREAM_ROUTES } from './events/stream-routes.ts'
import type { KeyedRoute, Route } from './http/route.ts'
import { OPERATION_ROUTES } from './operations/routes.ts'
import { PROJECT_ROUTES } from './projects/routes.ts'
import { PROJECT_UPSERT_ROUTES } from './projects/upsert.ts'
import { SOURCE_ROTATION_ROUTES } from './sources/rotation-routes.ts'
import { SOURCE_ROUTES } from './sources/routes.ts'
import { SAMPLE_ROUTES } from './sources/sample/sample-routes.ts'
import { SOURCE_UPSERT_ROUTES } from './sources/upsert.ts'
import { VERIFICATION_ROUTES } from './sources/verification-routes.ts'
import { STATISTICS_ROUTES } from './statistics/routes.ts'

/** Every operation below `/v1`. */
export const ROUTES: readonly Route[] = [
  ...PROJECT_ROUTES,
  ...SOURCE_ROUTES,
  ...SOURCE_ROTATION_ROUTES,
  ...VERIFICATION_ROUTES,
  ...DESTINATION_ROUTES,
  ...DESTINATION_ACTION_ROUTES,
  ...CONNECTION_ROUTES,
  ...CONNECTOR_ROUTES,
  CONNECTOR_UPSERT,
  ...REPLICA_ROUTES,
  ...AGENT_ROUTES,
  ...PROJECT_UPSERT_ROUTES,
  ...SOURCE_UPSERT_ROUTES,
  ...DESTINATION_UPSERT_ROUTES,
  ...CONNECTION_UPSERT_ROUTES,
  ...FILTER_ROUTES,
  ...EVENT_ROUTES,
  ...EVENT_STREAM_ROUTES,
  ...DELIVERY_ROUTES,
  ...BILLING_ROUTES,
  ...STATISTICS_ROUTES,
  ...OPERATION_ROUTES,
]

/** Operations for people at the dashboard alone: they are below `/app/api` and not below `/v1`. */
export const APP_ROUTES: readonly KeyedRoute[] = [
  ...MUTE_ROUTES,
  ...ALERT_MAIL_ROUTES,
  ...ALERT_ENDPOINT_ROUTES,
  ...ALERT_ROUTES,
  ...SAMPLE_ROUTES,
]
