import { writeFileSync } from 'node:fs'

import { withValues } from './document-values.ts'

for (const name of ['postern', 'postern-connector']) {
  const dir = new URL(name, import.meta.url).pathname
  writeFileSync(`${dir}/README.md`, withValues(dir))
}
