import { z } from 'zod'

import type { Page } from '../db/moving/read-organisation.ts'
import { UnreadableFile } from './sealed-file.ts'

/** Longer than a page of events with the largest bodies; a line is read whole. */
const LINE_BYTES_MAX = 256 * 1024 * 1024

const LINE_FEED = 10

const Uuid = z.uuid()

/** First line of a file. */
const Header = z.strictObject({
  /** The id of the export. */
  exportId: Uuid,
  organisationId: Uuid,
  /** The last migration of the source. */
  schema: z.string(),
  /** The export that this is the rest of; null for a whole one. */
  after: Uuid.nullable(),
  at: z.iso.datetime(),
})

export type Header = z.infer<typeof Header>

const Line = z.union([
  z.strictObject({
    table: z.string(),
    rows: z.array(z.record(z.string(), z.unknown())).min(1),
  }),
  /** Ends a page: how many there were. */
  z.strictObject({ page: z.int() }),
  z.strictObject({ end: z.int() }),
])

export type Line = z.infer<typeof Line>

/** The header, and each page as lines of rows with a line that ends it. */
export async function* writeLines(
  header: Header,
  pages: AsyncIterable<Page>,
): AsyncGenerator<Buffer> {
  yield lineOf(header)
  let count = 0
  for await (const page of pages) {
    for await (const line of page) yield lineOf(line)
    yield lineOf({ page: ++count })
  }
  yield lineOf({ end: count })
}

function lineOf(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}

/** Reads what `writeLines` wrote. Throws an UnreadableFile on anything else, and when the end is missing. */
export async function readHeader(lines: AsyncIterator<Buffer>): Promise<Header> {
  const { value, done } = await lines.next()
  if (done === true) throw new UnreadableFile('The file is empty')
  return parse(Header, value)
}

/** The lines behind the header. */
export async function* readLines(lines: AsyncIterator<Buffer>): AsyncGenerator<Line> {
  let pages = 0
  for (;;) {
    const { value, done } = await lines.next()
    if (done === true) throw new UnreadableFile('The file has no end')
    const line = parse(Line, value)
    if ('end' in line) {
      if (line.end !== pages) throw new UnreadableFile('The file lacks pages')
      if ((await lines.next()).done !== true)
        throw new UnreadableFile('The file goes on behind its end')
      return
    }
    if ('page' in line && line.page !== ++pages) throw new UnreadableFile('The file lacks pages')
    yield line
  }
}

function parse<T>(schema: z.ZodType<T>, line: Buffer): T {
  const parsed = schema.safeParse(JSON.parse(line.toString('utf8')))
  if (parsed.success) return parsed.data
  throw new UnreadableFile(
    `The file has a line that cannot be read: ${parsed.error.issues[0]?.message ?? ''}`,
  )
}

/** Lines without their line feeds. */
export async function* splitLines(plain: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let length = 0
  for await (const part of plain) {
    let from = 0
    for (let at = part.indexOf(LINE_FEED); at !== -1; at = part.indexOf(LINE_FEED, from)) {
      yield Buffer.concat([...parts, part.subarray(from, at)])
      parts = []
      length = 0
      from = at + 1
    }
    parts.push(part.subarray(from))
    length += part.length - from
    if (length > LINE_BYTES_MAX) throw new UnreadableFile('The file has a line that is too long')
  }
  if (length > 0) throw new UnreadableFile('The file has no end')
}
