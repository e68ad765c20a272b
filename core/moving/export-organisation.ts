import type { Clock } from '../clock.ts'
import { SEALED_TABLES } from '../db/configuration/sealed-secrets.ts'
import type { Db } from '../db/connection/db.ts'
import { MIGRATIONS } from '../db/migrations/index.ts'
import { recordExport } from '../db/moving/exports.ts'
import {
  configurationPage,
  eventPages,
  historyPages,
  openMoment,
  type EventChoice,
  type Page,
} from '../db/moving/read-organisation.ts'
import { newId, timeOfId } from '../ids.ts'
import type { Keyring } from '../secrets/sealed.ts'
import { writeLines } from './file-lines.ts'
import { openSecrets } from './moved-secrets.ts'

/** A transaction that stores an event began at most this long before the export that has not seen it. */
const MARGIN_MS = 900_000

export interface ExportDeps {
  db: Db
  clock: Clock
  keyring: Keyring
}

/**
 * A whole export has configuration and history, and events since a moment, none of them when that is undefined. The rest
 * has the events that came after an export that is named.
 */
export type ExportChoice =
  | { kind: 'whole'; eventsSinceMs: number | undefined }
  | { kind: 'rest'; after: { id: string; snapshot: string } }

export interface Exported {
  exportId: string
  events: number
  deliveries: number
}

/**
 * Writes the lines of an export to `sink`, all of one moment. They have secrets in clear: the sink must seal them. The export
 * is recorded, for the next one to follow, when the sink has taken all.
 */
export async function exportOrganisation(
  { db, clock, keyring }: ExportDeps,
  wish: { organisationId: string; choice: ExportChoice },
  sink: (lines: AsyncIterable<Buffer>) => Promise<void>,
): Promise<Exported> {
  const { organisationId, choice } = wish
  const { tx, snapshot } = await openMoment(db)
  const counted: Exported = { exportId: newId(clock.now()), events: 0, deliveries: 0 }
  try {
    const header = {
      exportId: counted.exportId,
      organisationId,
      schema: Object.keys(MIGRATIONS).at(-1) ?? '',
      after: choice.kind === 'rest' ? choice.after.id : null,
      at: new Date(clock.now()).toISOString(),
    }
    const pages = pagesOf(tx, organisationId, choice)
    await sink(writeLines(header, readable(pages, { keyring, counted })))
  } finally {
    await tx.rollback().execute()
  }
  const recorded = { id: counted.exportId, organisationId, snapshot }
  await recordExport(db, recorded, new Date(clock.now()))
  return counted
}

async function* pagesOf(
  tx: Db,
  organisationId: string,
  choice: ExportChoice,
): AsyncGenerator<Page> {
  if (choice.kind === 'whole') yield configurationPage(tx, organisationId)
  const events = eventsOf(choice)
  if (events !== undefined) yield* eventPages(tx, organisationId, events)
  if (choice.kind === 'whole') yield* historyPages(tx, organisationId)
}

function eventsOf(choice: ExportChoice): EventChoice | undefined {
  if (choice.kind === 'rest') {
    const { id, snapshot } = choice.after
    return { notIn: snapshot, fromMs: timeOfId(id) - MARGIN_MS }
  }
  return choice.eventsSinceMs === undefined ? undefined : { sinceMs: choice.eventsSinceMs }
}

/** Pages with their secrets opened, counted on the way. */
async function* readable(
  pages: AsyncIterable<Page>,
  { keyring, counted }: { keyring: Keyring; counted: Exported },
): AsyncGenerator<Page> {
  for await (const page of pages) yield readablePage(page, { keyring, counted })
}

async function* readablePage(
  page: Page,
  { keyring, counted }: { keyring: Keyring; counted: Exported },
): Page {
  for await (const { table, rows } of page) {
    if (table === 'event') counted.events += rows.length
    if (table === 'delivery') counted.deliveries += rows.length
    const sealed = SEALED_TABLES.find((name) => name === table)
    const clear = sealed && rows.map((row) => openSecrets(keyring, sealed, row))
    yield { table, rows: clear ?? rows }
  }
}
