import { z } from 'zod'

import type { SEALED_TABLES } from '../db/configuration/sealed-secrets.ts'
import type { MovedRow } from '../db/moving/moved-tables.ts'
import { seal, unseal, type Keyring } from '../secrets/sealed.ts'
import { placeOfSecrets } from '../secrets/secrets-place.ts'

type SealedTable = (typeof SEALED_TABLES)[number]

const Place = z.object({ id: z.uuid(), organisation_id: z.uuid() })

/** A row of a source or destination with its secrets in clear, for a file that is sealed as a whole. */
export function openSecrets(keyring: Keyring, table: SealedTable, row: MovedRow): MovedRow {
  const sealed = z.string().startsWith('\\x').nullable().parse(row['secrets'])
  if (sealed === null) return row
  const opened = unseal(keyring, Buffer.from(sealed.slice(2), 'hex'), placeOf(table, row))
  return { ...row, secrets: opened }
}

/** The same row with its secrets sealed under the keyring, as PostgreSQL reads it. */
export function sealSecrets(keyring: Keyring, table: SealedTable, row: MovedRow): MovedRow {
  if (row['secrets'] === null) return row
  const sealed = seal(keyring, row['secrets'], placeOf(table, row))
  return { ...row, secrets: `\\x${sealed.toString('hex')}` }
}

function placeOf(table: SealedTable, row: MovedRow): string {
  const { id, organisation_id: organisationId } = Place.parse(row)
  return placeOfSecrets(table, { id, organisationId })
}
