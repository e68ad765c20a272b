import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

import type { z } from 'zod'

/** Reads the value that an earlier start stored; undefined when there is none. Throws if the file is damaged. */
export function readJsonFile<T>(file: string, schema: z.ZodType<T>): T | undefined {
  if (!existsSync(file)) return undefined
  return schema.parse(JSON.parse(readFileSync(file, 'utf8')))
}

/** Stores a value for the next start, whole or not at all. Only the owner may read it. */
export function writeJsonFile(file: string, value: unknown): void {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, file)
}
