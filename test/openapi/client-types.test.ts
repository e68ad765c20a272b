import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, inject, test } from 'vitest'

import { scratch } from '../kit/servers.ts'
import { ROOT } from '../kit/source-files.ts'
import { npmTools, run } from './tools.ts'

const TYPES = join(ROOT, 'clients/typescript/schema.d.ts')
const FIRST_LINE =
  '// Made from the OpenAPI document by `npm run test:openapi -- client-types -u`; do not edit.\n\n'
/** The document has these words; here they are four fifths of the file. */
const COMMENT = /^ *\/\*\*[^]*?\*\/\n/gm

test('the client is compiled with the types of the OpenAPI document', async () => {
  using directory = scratch()
  const cwd = directory.path
  const document = join(cwd, 'openapi.json')
  const answer = await fetch(`${inject('installation').apiUrl}/openapi.json`)
  writeFileSync(document, await answer.text())
  const generator = join(await npmTools(), 'node_modules', '.bin', 'openapi-typescript')
  const made = join(cwd, 'made.ts')
  // A member with a default may be left out of a request.
  await run(generator, [document, '--default-non-nullable', 'false', '-o', made], {
    cwd,
  })
  const input = FIRST_LINE + readFileSync(made, 'utf8').replaceAll(COMMENT, '')
  const config = join(ROOT, '.oxfmtrc.json')
  const oxfmt = join(ROOT, 'node_modules', '.bin', 'oxfmt')
  const formatted = await run(oxfmt, ['-c', config, '--stdin-filepath', 'made.ts'], { cwd, input })
  await expect(formatted).toMatchFileSnapshot(TYPES)
})
