import type { Migration } from 'kysely/migration'

import { up as relay } from './0001-relay.ts'
import { up as sourceRotation } from './0002-source-rotation.ts'
import { up as deliveryActions } from './0003-delivery-actions.ts'
import { up as idempotency } from './0004-idempotency.ts'
import { up as billing } from './0005-billing.ts'
import { up as statistics } from './0006-statistics.ts'
import { up as eventPosition } from './0007-event-position.ts'
import { up as operations } from './0008-operations.ts'
import { up as retention } from './0009-retention.ts'
import { up as partitionOwners } from './0010-partition-owners.ts'
import { up as failingDestinations } from './0011-failing-destinations.ts'
import { up as spool } from './0012-spool.ts'
import { up as cancelledDeliveries } from './0013-cancelled-deliveries.ts'
import { up as invitations } from './0014-invitations.ts'
import { up as latencyTexts } from './0015-latency-texts.ts'
import { up as doomedRoutes } from './0016-doomed-routes.ts'
import { up as manualAttempts } from './0017-manual-attempts.ts'
import { up as rejectionDetails } from './0018-rejection-details.ts'
import { up as connectors } from './0019-connectors.ts'
import { up as accounts } from './0020-accounts.ts'
import { up as pendingCancellations } from './0021-pending-cancellations.ts'
import { up as mail } from './0022-mail.ts'
import { up as alerts } from './0023-alerts.ts'
import { up as agents } from './0024-agents.ts'
import { up as backlog } from './0025-backlog.ts'
import { up as addresses } from './0026-addresses.ts'
import { up as alertsOfProjects } from './0027-alerts-of-projects.ts'
import { up as verifiedPeople } from './0028-verified-people.ts'
import { up as signUpNetworks } from './0029-sign-up-networks.ts'
import { up as keptAgents } from './0030-kept-agents.ts'
import { up as parkedLanes } from './0031-parked-lanes.ts'
import { up as movingOrganisations } from './0032-moving-organisations.ts'
import { up as minutes } from './0033-minutes.ts'
import { up as rejectedMinutes } from './0034-rejected-minutes.ts'
import { up as spoolShares } from './0035-spool-shares.ts'

/** In order. A landed migration is frozen; the next change is the next number. */
export const MIGRATIONS: Record<string, Migration> = {
  '0001-relay': { up: relay },
  '0002-source-rotation': { up: sourceRotation },
  '0003-delivery-actions': { up: deliveryActions },
  '0004-idempotency': { up: idempotency },
  '0005-billing': { up: billing },
  '0006-statistics': { up: statistics },
  '0007-event-position': { up: eventPosition },
  '0008-operations': { up: operations },
  '0009-retention': { up: retention },
  '0010-partition-owners': { up: partitionOwners },
  '0011-failing-destinations': { up: failingDestinations },
  '0012-spool': { up: spool },
  '0013-cancelled-deliveries': { up: cancelledDeliveries },
  '0014-invitations': { up: invitations },
  '0015-latency-texts': { up: latencyTexts },
  '0016-doomed-routes': { up: doomedRoutes },
  '0017-manual-attempts': { up: manualAttempts },
  '0018-rejection-details': { up: rejectionDetails },
  '0019-connectors': { up: connectors },
  '0020-accounts': { up: accounts },
  '0021-pending-cancellations': { up: pendingCancellations },
  '0022-mail': { up: mail },
  '0023-alerts': { up: alerts },
  '0024-agents': { up: agents },
  '0025-backlog': { up: backlog },
  '0026-addresses': { up: addresses },
  '0027-alerts-of-projects': { up: alertsOfProjects },
  '0028-verified-people': { up: verifiedPeople },
  '0029-sign-up-networks': { up: signUpNetworks },
  '0030-kept-agents': { up: keptAgents },
  '0031-parked-lanes': { up: parkedLanes },
  '0032-moving-organisations': { up: movingOrganisations },
  '0033-minutes': { up: minutes },
  '0034-rejected-minutes': { up: rejectedMinutes },
  '0035-spool-shares': { up: spoolShares },
}
