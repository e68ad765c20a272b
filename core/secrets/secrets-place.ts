/** Identifies the row that a secret belongs to. */
export interface SecretsRow {
  id: string
  organisationId: string
}

/** The place that a row's `secrets` are sealed for: elsewhere they do not open. */
export function placeOfSecrets(table: 'source' | 'destination', row: SecretsRow): string {
  return `${table}.secrets/${row.organisationId}/${row.id}`
}
