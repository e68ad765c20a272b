import { timestamp } from '../../../core/clock.ts'
import type { ApiKey } from '../../../core/db/configuration/api-keys.ts'
import { encodeId } from '../../../core/ids.ts'
import { moment } from '../../http/fields.ts'

/** A key without its text, of which nothing but the hash is kept. */
export function viewKey(key: ApiKey): Record<string, unknown> {
  return {
    id: encodeId('key', key.id),
    organisationId: encodeId('org', key.organisationId),
    projectId: key.projectId === null ? null : encodeId('prj', key.projectId),
    name: key.name,
    permissions: key.permissions,
    secretHint: key.secretHint,
    expiresAt: moment(key.expiresAt),
    revokedAt: moment(key.revokedAt),
    createdBy: key.createdBy === null ? null : encodeId('usr', key.createdBy),
    lastUsedAt: moment(key.lastUsedAt),
    lastUsedFrom: key.lastUsedFrom,
    createdAt: timestamp(key.createdAt.getTime()),
  }
}
