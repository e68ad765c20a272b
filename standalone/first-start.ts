import { join } from 'node:path'

import { z } from 'zod'

import { readJsonFile, writeJsonFile } from './processes/json-file.ts'
import type { Print } from './processes/os-process.ts'
import { runProgram } from './processes/program.ts'

const ADMIN = 'api/admin/main.ts'
const RESOURCES = [
  'projects',
  'sources',
  'destinations',
  'connections',
  'connectors',
  'deliveries',
  'events',
  'billing',
]

const Tenant = z.object({
  /** The database, without its credentials: another one has neither the organisation nor the key. */
  database: z.string(),
  organisationId: z.string(),
  projectId: z.string(),
  /** Null while it is being made: a start that was broken off there goes on with the same organisation. */
  apiKey: z.string().nullable(),
})
export type Tenant = z.infer<typeof Tenant> & { apiKey: string }

const Organisation = z.object({ id: z.string(), defaultProjectId: z.string() })
const Key = z.object({ key: z.string() })

export interface FirstStartOptions {
  dataDir: string
  /** `embedded`, or what names an external database. */
  database: string
  env: Record<string, string | undefined>
  print: Print
}

/** The organisation, project and key of the first start, made by the admin program and kept for later starts. */
export async function ensureTenant({
  dataDir,
  database,
  env,
  print,
}: FirstStartOptions): Promise<Tenant> {
  const file = join(dataDir, 'first-start.json')
  const found = readJsonFile(file, Tenant)
  const kept = found?.database === database ? found : undefined
  if (kept !== undefined && kept.apiKey !== null) return { ...kept, apiKey: kept.apiKey }
  print('First start: making an organisation, a project and an API key')
  const place = kept ?? (await makeOrganisation(database, env))
  writeJsonFile(file, place)
  const { key } = Key.parse(
    JSON.parse(await runProgram(ADMIN, keyArguments(place.organisationId), env)),
  )
  const tenant = { ...place, apiKey: key }
  writeJsonFile(file, tenant)
  return tenant
}

async function makeOrganisation(
  database: string,
  env: FirstStartOptions['env'],
): Promise<z.infer<typeof Tenant>> {
  const text = await runProgram(ADMIN, ['organisations', 'create', '--name', 'Standalone'], env)
  const { id, defaultProjectId } = Organisation.parse(JSON.parse(text))
  return { database, organisationId: id, projectId: defaultProjectId, apiKey: null }
}

function keyArguments(organisationId: string): string[] {
  const permissions = RESOURCES.flatMap((resource) => ['--permission', `${resource}=write`])
  return [
    'keys',
    'create',
    '--organisation',
    organisationId,
    '--name',
    'Standalone',
    ...permissions,
  ]
}
