import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { changesOf } from './changelog.ts'
import { otherVersions, versionsIn } from './stated-versions.ts'

/** Files of the tree that state a version. */
const STATES =
  /^(?:package(?:-lock)?\.json|charts\/[^/]+\/Chart\.yaml|compose\.yaml|(?:README|docs\/.*)\.md)$/

/** Everything that keeps a tree from being a release, a line each. `paths` are its files, `uncommitted` as git lists them. */
export function treeFaults(
  root: string,
  {
    version,
    paths,
    uncommitted,
  }: { version: string; paths: readonly string[]; uncommitted: string },
): string[] {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const stated = paths
    .filter((path) => STATES.test(path))
    .flatMap((path) => versionsIn(path, read(path)))
  return [
    ...(uncommitted === '' ? [] : [`Not committed:\n${uncommitted}`]),
    ...otherVersions(version, stated),
    ...(changesOf(read('CHANGELOG.md'), version) === undefined
      ? [`CHANGELOG.md has no changes under a heading [${version}]`]
      : []),
  ]
}
