import { sql, type Kysely } from 'kysely'

/**
 * The state of an organisation that moves to another installation, and which exports were imported here. To the version
 * before, every organisation runs. (architecture: Cells)
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(MOVING).execute(db)
}

/**
 * `snapshot`: the transactions that an export has seen; events of later ones come with the next export. `pages`: how many
 * pages of the file are in, so that an import that was interrupted goes on behind them.
 */
const MOVING = `
  alter table organisation add column state text not null default 'running'
    check (state in ('running', 'stopped', 'closed'));
  create table organisation_export (
    id uuid primary key,
    organisation_id uuid not null references organisation on delete cascade,
    snapshot text not null,
    finished_at timestamptz not null
  );
  create index organisation_export_organisation on organisation_export (organisation_id, id);
  create table organisation_import (
    export_id uuid primary key,
    organisation_id uuid not null references organisation on delete cascade,
    pages integer not null,
    begun_at timestamptz not null,
    finished_at timestamptz
  );
  create index organisation_import_organisation on organisation_import (organisation_id);
`
