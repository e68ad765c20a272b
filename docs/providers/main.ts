import { readFileSync, writeFileSync } from 'node:fs'

import { withTable } from './table.ts'

/** `npm run docs:providers`: writes the presets into their page. */
const PAGE = new URL('../providers.md', import.meta.url)
writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8')))
