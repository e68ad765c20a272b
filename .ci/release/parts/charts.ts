import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { isInstalled, outputOf, type CommandOptions } from '../command.ts'
import { packFolder, type Commit } from '../packed.ts'

/** Values that each chart demands before it renders. */
const LEAST: Readonly<Record<string, readonly string[]>> = {
  postern: [
    'image.repository=postern',
    ...['encryptionKey', 'database', 'nats'].map((name) => `${name}.existingSecret.name=postern`),
  ],
  'postern-connector': ['image.repository=postern'],
}

/** Packs the charts of the tree into `target` and renders each from its package. */
export function packCharts(
  tree: CommandOptions,
  { target, commit, work }: { target: string; commit: Commit; work: string },
): void {
  const helm = findHelm(tree)
  for (const [name, values] of Object.entries(LEAST)) {
    const made = join(work, name)
    mkdirSync(made)
    // Links of the tree to files that two charts share become files.
    outputOf(helm, ['package', join(tree.cwd, 'charts', name), '--destination', made], tree)
    const [file = ''] = readdirSync(made)
    outputOf('tar', ['-xzf', file], { ...tree, cwd: made })
    writeFileSync(join(target, file), packFolder(name, commit, { ...tree, cwd: made }))
    const settings = values.flatMap((value) => ['--set', value])
    outputOf(helm, ['lint', '--strict', join(target, file), ...settings], tree)
    outputOf(helm, ['template', 'release', join(target, file), ...settings], tree)
  }
}

/** Helm of this machine, or one built with Go as the tests of the charts do. */
function findHelm(tree: CommandOptions): string {
  if (isInstalled('helm', tree)) return 'helm'
  return (
    outputOf(join(tree.cwd, 'test/cluster/helm.sh'), [], tree)
      .toString()
      .trim()
      .split('\n')
      .at(-1) ?? ''
  )
}
