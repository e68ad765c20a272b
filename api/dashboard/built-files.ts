import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BUILT = fileURLToPath(new URL('../../dashboard/dist/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** A file of the dashboard as it is sent: compressed by the build, not by each answer. */
export interface BuiltFile {
  type: string
  etag: string
  plain: Buffer
  brotli: Buffer | undefined
  gzip: Buffer | undefined
}

/** Every file by its path, such as `/index.html`. Undefined when the dashboard is not built. */
export type BuiltFiles = ReadonlyMap<string, BuiltFile>

/** All of it is some hundred kilobytes, so that it is kept in memory and no request touches a disk. */
export function readBuiltFiles(directory = BUILT): BuiltFiles | undefined {
  if (!existsSync(join(directory, 'index.html'))) return undefined
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const known = new Set(names)
  const read = (name: string) => (known.has(name) ? readFileSync(join(directory, name)) : undefined)
  return new Map(
    names.flatMap((name) => {
      const type = TYPES[extname(name)]
      const plain = type === undefined ? undefined : read(name)
      if (type === undefined || plain === undefined) return []
      const etag = `W/"${hash('sha256', plain, 'base64url')}"`
      const file = { type, etag, plain, brotli: read(`${name}.br`), gzip: read(`${name}.gz`) }
      return [[`/${name.replaceAll('\\', '/')}`, file] as const]
    }),
  )
}
