import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The path of the installation's encryption key, base64 of 32 bytes, made at the first start and never changed. */
export function ensureEncryptionKey(dataDir: string): string {
  const file = join(dataDir, 'encryption-key')
  if (existsSync(file)) return file
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  // Unlike a rename, a link never replaces a key with which something is already sealed.
  linkSync(draft, file)
  rmSync(draft)
  return file
}
