import { RESOURCES } from '../../core/keys/permissions.ts'
import { PLAN_NAMES } from '../../core/plans/plans.ts'

/** What `npm run admin` says of itself. */
export const HELP = `Administration of a Postern installation. Speaks to the database and prints JSON.

  npm run admin -- <noun> <verb> [arguments] [options]

  organisations create --name <name> [--plan <plan>]
      An organisation with its default project.
  organisations list
  organisations set-plan <org_…> <plan>

  projects list [--organisation <org_…>]

  keys create --name <name> (--permission <resource>=<level> … | --unscoped)
              [--organisation <org_…>] [--project <prj_…>] [--expires <time>]
      An API key; its text is printed this once as "key".
  keys list [--organisation <org_…>]
  keys rescope <key_…> --permission <resource>=<level> …
      Exactly these permissions, from the next request on.
  keys revoke <key_…>

  sources set-rate-limit <src_…> <requests per second, 0 is unlimited>

Plans: ${PLAN_NAMES.join(', ')}
Resources: ${RESOURCES.join(', ')}
Levels: none, read, write
Times: 2026-11-20T09:00:00Z
--organisation may be left out when there is only one.

The database is DATABASE_URL, or that of the installation in DATA_DIR (.postern).
Exit code 1: refused or failed. Exit code 2: not understood.
`
