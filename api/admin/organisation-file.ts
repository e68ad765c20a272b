import { createReadStream, createWriteStream } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

import { newFileKey, openChunks, readFileKey, sealChunks } from '../../core/moving/sealed-file.ts'

/** Readable by its owner alone. */
const MODE = 0o600

export interface OrganisationFile {
  path: string
  keyPath: string
}

/** Writes a sealed file, complete or not at all. Refuses to write over one. A key file that is missing is made. */
export async function writeOrganisationFile(
  { path, keyPath }: OrganisationFile,
  lines: AsyncIterable<Buffer>,
): Promise<void> {
  const draft = `${path}.part`
  const key = await readOrMakeKey(keyPath)
  await rm(draft, { force: true })
  const target = createWriteStream(draft, { flags: 'wx', mode: MODE, flush: true })
  await pipeline(sealChunks(key, lines), target)
  await rename(draft, path)
}

/** Throws if there is a file. */
export async function refuseFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined) throw new Error(`Cannot write "${path}": it is there already`)
}

async function readOrMakeKey(path: string): Promise<Buffer> {
  const made = `${newFileKey()}\n`
  try {
    await using file = await open(path, 'wx', MODE)
    await file.writeFile(made)
    await file.sync()
    return readFileKey(made)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    return await readKey(path)
  }
}

async function readKey(path: string): Promise<Buffer> {
  return readFileKey(await readFile(path, 'utf8'))
}

/** A function that reads what is sealed in a file, from its beginning each time. */
export async function openOrganisationFile({
  path,
  keyPath,
}: OrganisationFile): Promise<() => AsyncIterable<Buffer>> {
  const key = await readKey(keyPath)
  return () => openChunks(key, createReadStream(path))
}
