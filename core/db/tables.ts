import type { AccountTables } from './accounts/tables.ts'
import type { AlertTables } from './alerts/tables.ts'
import type {
  LedgerTable,
  SubscriptionTable,
  UsageDeltaTable,
  UsageTable,
} from './billing/tables.ts'
import type {
  ApiKeyTable,
  ConfigChangeTable,
  ConnectionTable,
  DestinationTable,
  InvitationTable,
  OrganisationExportTable,
  OrganisationImportTable,
  OrganisationTable,
  ProjectTable,
  SecretUsageTable,
  SourceTable,
} from './configuration/tables.ts'
import type { ConnectorTables } from './connectors/tables.ts'
import type {
  AttemptTable,
  DeliveryFailedTable,
  DeliveryTable,
  DeliveryWaitingTable,
  DestinationBusyTable,
  DestinationFailureTable,
  PendingCancellationTable,
  PacingTable,
} from './deliveries/tables.ts'
import type { DedupeKeyTable, EventTable, SourceActivityTable } from './events/tables.ts'
import type { OperationTable } from './operations/tables.ts'
import type {
  LeaseTable,
  OperationalEventTable,
  ProcessTable,
  SweepTable,
} from './processes/tables.ts'
import type { AuditTable, IdempotentAnswerTable } from './requests/tables.ts'
import type { StatisticsTables } from './statistics/tables.ts'

/** Every table as kysely sees it. Times are dates to read and ISO text or dates to write. */
export interface Tables extends StatisticsTables, ConnectorTables, AccountTables, AlertTables {
  organisation: OrganisationTable
  organisation_export: OrganisationExportTable
  organisation_import: OrganisationImportTable
  project: ProjectTable
  api_key: ApiKeyTable
  invitation: InvitationTable
  audit: AuditTable
  usage: UsageTable
  usage_delta: UsageDeltaTable
  subscription: SubscriptionTable
  ledger: LedgerTable
  source: SourceTable
  source_activity: SourceActivityTable
  secret_usage: SecretUsageTable
  destination: DestinationTable
  destination_failure: DestinationFailureTable
  operational_event: OperationalEventTable
  connection: ConnectionTable
  config_change: ConfigChangeTable
  event: EventTable
  dedupe_key: DedupeKeyTable
  delivery: DeliveryTable
  attempt: AttemptTable
  delivery_waiting: DeliveryWaitingTable
  delivery_failed: DeliveryFailedTable
  pending_cancellation: PendingCancellationTable
  destination_busy: DestinationBusyTable
  pacing: PacingTable
  process: ProcessTable
  lease: LeaseTable
  sweep: SweepTable
  operation: OperationTable
  idempotent_answer: IdempotentAnswerTable
}
