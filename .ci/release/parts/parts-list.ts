import { z } from 'zod'

import { outputOf, type CommandOptions } from '../command.ts'
import type { Commit } from '../packed.ts'

const List = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  serialNumber: z.string().optional(),
  metadata: z.looseObject({
    timestamp: z.string(),
    component: z.looseObject({ name: z.string() }),
  }),
  components: z.array(z.looseObject({ name: z.string(), version: z.string() })).min(1),
})

/** The packages that run in production, as CycloneDX: the same text whenever it is made of the same commit. */
export function partsListOf(tree: CommandOptions, { seconds }: Commit): string {
  const scope = ['--package-lock-only', '--omit=dev', '--omit=optional']
  const printed = outputOf('npm', ['sbom', '--sbom-format=cyclonedx', ...scope], tree)
  const { serialNumber: _, ...list } = List.parse(JSON.parse(printed.toString()))
  // Else it is that of the directory.
  list.metadata.component.name = 'postern'
  list.metadata.timestamp = new Date(seconds * 1_000).toISOString()
  return `${JSON.stringify(list, undefined, 2)}\n`
}
