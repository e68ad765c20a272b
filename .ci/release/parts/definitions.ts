import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { parseAllDocuments } from 'yaml'

/** The custom resource definitions of a folder as one text for `kubectl apply`. Throws when something else is among them. */
export function definitionsIn(folder: string): string {
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const text = names
    .toSorted()
    .map((name) => `---\n${readFileSync(join(folder, name), 'utf8').trimEnd()}\n`)
    .join('')
  const kinds = parseAllDocuments(text).map((document) => document.get('kind'))
  if (kinds.length !== names.length || kinds.some((kind) => kind !== 'CustomResourceDefinition')) {
    throw new Error(`${folder} does not hold one CustomResourceDefinition in each file`)
  }
  return text
}
