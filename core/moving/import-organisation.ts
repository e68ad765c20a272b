import { DAY_MS, type Clock } from '../clock.ts'
import { findPlanRows } from '../db/billing/subscriptions.ts'
import { findOrganisation, findOwnOrganisation } from '../db/configuration/organisations.ts'
import { SEALED_TABLES } from '../db/configuration/sealed-secrets.ts'
import { ensureDay, ensurePartitions } from '../db/connection/day-partitions.ts'
import type { Db } from '../db/connection/db.ts'
import { MIGRATIONS } from '../db/migrations/index.ts'
import { beginImport, findImport, finishImport, notePage } from '../db/moving/imports.ts'
import { placePeople, withPeople, type People } from '../db/moving/moved-people.ts'
import type { MovedRow } from '../db/moving/moved-tables.ts'
import { insertRows, movedTable } from '../db/moving/write-organisation.ts'
import { partitionOf } from '../delivery/partition-of.ts'
import { refuse } from '../errors.ts'
import { encodeId, timeOfId } from '../ids.ts'
import { OVERDUE_CLASS } from '../limits.ts'
import { isPaced, type Plans } from '../plans/plans.ts'
import { standingAt } from '../plans/standing.ts'
import type { Keyring } from '../secrets/sealed.ts'
import { readHeader, readLines, splitLines, type Header, type Line } from './file-lines.ts'
import { EventPage } from './import-events.ts'
import { sealSecrets } from './moved-secrets.ts'
import { UnreadableFile } from './sealed-file.ts'

export interface ImportDeps {
  db: Db
  clock: Clock
  keyring: Keyring
  plans: Plans
}

export interface Imported {
  exportId: string
  organisationId: string
  /** False when it had been imported before. */
  isNew: boolean
}

/**
 * Imports a file that `open` reads, as often as it is called. The first reading checks all of it, so that nothing of a bad
 * file is imported; the second one imports a page a transaction. An import that was interrupted goes on where it ended; a file that
 * is in is left alone. The organisation is stopped until it is started.
 */
export async function importOrganisation(
  deps: ImportDeps,
  open: () => AsyncIterable<Buffer>,
): Promise<Imported> {
  const header = await checkFile(open())
  const { exportId, organisationId } = header
  const begun = await findImport(deps.db, exportId)
  const imported = { exportId, organisationId, isNew: false }
  if (begun !== undefined && begun.finishedAt !== null) return imported
  if (begun === undefined) await refuseOutOfTurn(deps.db, header)
  await importPages(deps, header, { lines: openLines(open()), done: begun?.pages ?? 0 })
  await finishImport(deps.db, exportId, new Date(deps.clock.now()))
  return { ...imported, isNew: true }
}

/** Reads a file to its end. Throws an UnreadableFile at the first fault. */
async function checkFile(plain: AsyncIterable<Buffer>): Promise<Header> {
  const lines = openLines(plain)
  const header = await readHeader(lines)
  if (!(header.schema in MIGRATIONS)) {
    throw new UnreadableFile(
      `The file is of a newer version of Postern (${header.schema}): bring this installation up to date first`,
    )
  }
  for await (const line of readLines(lines)) if ('table' in line) movedTable(line.table)
  return header
}

function openLines(plain: AsyncIterable<Buffer>): AsyncIterator<Buffer> {
  return splitLines(plain)[Symbol.asyncIterator]()
}

/** A whole export comes once, the rest behind the export that it follows. */
async function refuseOutOfTurn(db: Db, { organisationId, after }: Header): Promise<void> {
  const id = encodeId('org', organisationId)
  const isHere = (await findOrganisation(db, organisationId)) !== undefined
  if (after === null) {
    if (isHere) refuse('CONFLICT', `Cannot import: organisation ${id} is here already`)
    return
  }
  const before = await findImport(db, after)
  if (before?.organisationId !== organisationId || before.finishedAt === null) {
    refuse('CONFLICT', `Cannot import: import the export of ${id} first that this file follows`)
  }
}

interface Pages {
  lines: AsyncIterator<Buffer>
  /** Pages that are imported. */
  done: number
}

async function importPages(
  deps: ImportDeps,
  header: Header,
  { lines, done }: Pages,
): Promise<void> {
  await readHeader(lines)
  const read = readLines(lines)
  const importing = new Importing(deps, header)
  for (let page = 1; ; page++) {
    const first = await read.next()
    if (first.done === true) return
    const rows = pageOf(first.value, read)
    if (page <= done) {
      for await (const line of rows) await importing.passOver(line)
      continue
    }
    await deps.db.transaction().execute(async (tx) => await importing.page(tx, page, rows))
    if (page === 1) await ensurePartitions(deps.db, deps.clock.now())
  }
}

type Rows = Extract<Line, { table: string }>

/** The lines of rows up to the end of the page. */
async function* pageOf(first: Line, lines: AsyncGenerator<Line>): AsyncGenerator<Rows> {
  for (let line = first; 'table' in line;) {
    yield line
    const { value, done } = await lines.next()
    if (done === true) return
    line = value
  }
}

class Importing {
  readonly #deps: ImportDeps
  readonly #header: Header
  readonly #people: People = { idOf: new Map(), added: new Set() }
  readonly #days = new Set<string>()

  constructor(deps: ImportDeps, header: Header) {
    this.#deps = deps
    this.#header = header
  }

  /** Rows that are here already: later ones refer to the same people. */
  async passOver({ table, rows }: Rows): Promise<void> {
    if (table === 'person') await placePeople(this.#deps.db, rows, this.#people)
  }

  async page(tx: Db, number: number, lines: AsyncIterable<Rows>): Promise<void> {
    let events: EventPage | undefined
    for await (const { table, rows } of lines) {
      if (movedTable(table).part === 'events') {
        if (table === 'event') await this.#ensureDays(rows)
        events ??= await this.#openEvents(tx)
        await events.add(table, rows)
      } else {
        await this.#add(tx, table, rows)
      }
    }
    await events?.end()
    const { exportId } = this.#header
    if (number === 1) await beginImport(tx, this.#header, this.#now())
    if (!(await notePage(tx, exportId, number))) {
      throw new Error('Cannot import: another import of this file is under way')
    }
  }

  async #add(tx: Db, table: string, rows: readonly MovedRow[]): Promise<void> {
    const of = { organisationId: this.#header.organisationId }
    if (table === 'organisation') return await this.#addOrganisation(tx, rows)
    if (table === 'person') {
      const missing = await placePeople(tx, rows, this.#people)
      return await insertRows(tx, table, missing, { of, isChecked: false })
    }
    if (table === 'identity') {
      const theirs = rows.filter((row) => this.#people.added.has(String(row['person_id'])))
      return await insertRows(tx, table, theirs, { of, isChecked: false })
    }
    const sealed = SEALED_TABLES.find((name) => name === table)
    const placed = withPeople(rows, movedTable(table), this.#people)
    const ready = sealed
      ? placed.map((row) => sealSecrets(this.#deps.keyring, sealed, row))
      : placed
    await insertRows(tx, table, ready, { of })
  }

  /** The installation's own organisation is the oldest that no sign-up made: one that moves in must not take its place. */
  async #addOrganisation(tx: Db, rows: readonly MovedRow[]): Promise<void> {
    const own = await findOwnOrganisation(tx)
    const added = own === undefined ? rows : rows.map((row) => ({ ...row, signed_up: true }))
    const of = { organisationId: this.#header.organisationId }
    await insertRows(tx, 'organisation', added, { of })
  }

  async #openEvents(tx: Db): Promise<EventPage> {
    const { organisationId, after } = this.#header
    const now = this.#now()
    const rows = await findPlanRows(tx, organisationId)
    if (rows === undefined) throw new UnreadableFile('The file lacks its organisation')
    const { entitlements } = standingAt(this.#deps.plans, rows, now.getTime())
    return new EventPage(tx, {
      organisationId,
      partitionOf: (id) => partitionOf(organisationId, id, isPaced(entitlements)),
      now,
      isCounted: after !== null,
    })
  }

  /** Made before the transaction touches a table of events, which would be in the way. */
  async #ensureDays(rows: readonly MovedRow[]): Promise<void> {
    for (const row of rows) {
      const dayMs = Math.floor(timeOfId(String(row['id'])) / DAY_MS) * DAY_MS
      const retentionClass = Number(row['class'])
      const key = `${retentionClass} ${dayMs}`
      if (this.#days.has(key) || retentionClass === OVERDUE_CLASS) continue
      this.#days.add(key)
      await ensureDay(this.#deps.db, retentionClass, dayMs)
    }
  }

  #now(): Date {
    return new Date(this.#deps.clock.now())
  }
}
