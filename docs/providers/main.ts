import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

import { withParts } from './parts.ts'
import { type ProviderPage, withTables } from './table.ts'

/** `npm run docs:providers`: writes the presets into their pages. */
const TABLES = new URL('../providers.md', import.meta.url)
const pages: ProviderPage[] = []
for (const file of readdirSync(import.meta.dirname).toSorted()) {
  if (!file.endsWith('.md')) continue
  const place = new URL(file, import.meta.url)
  const text = withParts(readFileSync(place, 'utf8'))
  writeFileSync(place, text)
  pages.push({ name: file.slice(0, -3), text })
}
writeFileSync(TABLES, withTables(readFileSync(TABLES, 'utf8'), pages))
