import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { MIGRATIONS } from '../../core/db/migrations/index.ts'
import { scratch } from '../kit/servers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** All that the roles and `migrate` run. */
const COPIED = ['api', 'core', 'dataplane', 'package.json']
const INDEX = 'core/db/migrations/index.ts'
/** The tables that all roles read and write. */
const CHANGED = ['event', 'delivery', 'attempt', 'source', 'destination', 'connection', 'project']

/** As a migration may be: columns that may be null, a table and indexes, and nothing that the version before needs is taken away. */
const MIGRATION = `import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(ADDITIONS).execute(db)
}

const ADDITIONS = \`
${CHANGED.map((table) => `  alter table ${table} add column next_version_note text;`).join('\n')}
  create table next_version_note (id uuid primary key, source_id uuid not null, note text);
  create index next_version_note_source on next_version_note (source_id);
  create index source_next_version on source (next_version_note) where next_version_note is not null;
\`
`

export interface VersionAfter extends Disposable {
  root: string
  /** The migration that it has beyond those of this version. */
  migration: string
}

/** A copy of this repository with one more migration. Disposing of it removes it. */
export function makeVersionAfter(): VersionAfter {
  using stack = new DisposableStack()
  const { path: root } = stack.use(scratch())
  for (const name of COPIED) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const number = String(Object.keys(MIGRATIONS).length + 1).padStart(4, '0')
  const migration = `${number}-next-version`
  writeFileSync(join(root, 'core/db/migrations', `${migration}.ts`), MIGRATION)
  const index = readFileSync(join(root, INDEX), 'utf8')
  const end = index.lastIndexOf('}')
  writeFileSync(
    join(root, INDEX),
    `import { up as nextVersion } from './${migration}.ts'\n${index.slice(0, end)}  '${migration}': { up: nextVersion },\n}\n`,
  )
  const owned = stack.move()
  return { root, migration, [Symbol.dispose]: () => owned.dispose() }
}
