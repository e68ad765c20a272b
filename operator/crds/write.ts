import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { definitionOf, KINDS } from './definition.ts'
import { toYaml } from './yaml.ts'

/** `npm run crds`: writes the definitions of our kinds, from the schemas by which the operator reads them. */
const folder = fileURLToPath(new URL('../../crds/', import.meta.url))
mkdirSync(folder, { recursive: true })
for (const kind of KINDS) {
  writeFileSync(`${folder}${kind.plural}.yaml`, toYaml(definitionOf(kind)).trimStart())
}
