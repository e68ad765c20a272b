import {
  findProject,
  insertProject,
  lockProject,
  PROJECT_NAME_TAKEN,
  updateProject,
  type Project,
} from '../../core/db/configuration/projects.ts'
import type { Resource } from '../writes/write-resource.ts'

export const PROJECT: Resource<Project> = {
  kind: 'project',
  prefix: 'prj',
  nameTaken: PROJECT_NAME_TAKEN,
  async find(tx, reach, id) {
    await lockProject(tx, id)
    return await findProject(tx, reach, id)
  },
  insert: insertProject,
  update: updateProject,
  projectIdOf: (row) => row.id,
  // Neither ingest nor a worker keeps anything of it.
  announce: async () => await Promise.resolve(),
}
