import {
  findSource,
  insertSource,
  SOURCE_NAME_TAKEN,
  updateSource,
  type ActiveSource,
} from '../../core/db/configuration/sources.ts'
import { announceChanges } from '../../core/notices/config-changes.ts'
import type { Resource } from '../writes/write-resource.ts'

export const SOURCE: Resource<ActiveSource> = {
  kind: 'source',
  prefix: 'src',
  nameTaken: SOURCE_NAME_TAKEN,
  find: async (tx, reach, id) => await findSource(tx, reach, id, { lock: true }),
  insert: insertSource,
  update: updateSource,
  projectIdOf: (row) => row.projectId,
  announce: async (deps, { id }) => await announceChanges(deps, [{ kind: 'source', id }]),
}
