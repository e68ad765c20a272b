import { hash } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** The SHA-256 of files below a directory, by path. A link is where it leads to; a file that is not there has none. */
export function sumsOf(directory: string, paths: readonly string[]): Map<string, string> {
  return new Map(
    paths.flatMap((path): [string, string][] => {
      const bytes = contentOf(join(directory, path))
      return bytes === undefined ? [] : [[path, hash('sha256', bytes, 'hex')]]
    }),
  )
}

/** As `sha256sum --check` reads them. */
export function sumLines(sums: ReadonlyMap<string, string>): string {
  return [...sums].map(([path, sum]) => `${sum}  ${path}\n`).join('')
}

/** Paths that have a sum before and another or none after. */
export function changedOf(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  return [...before].filter(([path, sum]) => after.get(path) !== sum).map(([path]) => path)
}

function contentOf(file: string): Buffer | string | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  return stat.isSymbolicLink() ? readlinkSync(file) : readFileSync(file)
}
