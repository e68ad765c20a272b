import { join } from 'node:path'

import { isInstalled, outputOf, type CommandOptions } from '../command.ts'

const BUILDERS = ['buildah', 'podman', 'docker'] as const
type Builder = (typeof BUILDERS)[number]

/** The user that the chart and compose.yaml rely on. */
const USER = '65532:65532'

/**
 * Builds the image of the tree and writes it to `file`. Undefined when this machine has no builder. `given` are words for
 * the builder, such as the base images of a closed network.
 */
export function buildImage(
  tree: CommandOptions,
  { name, file, given }: { name: string; file: string; given: readonly string[] },
): Builder | undefined {
  const builder = BUILDERS.find((one) => isInstalled(one, tree))
  if (builder === undefined) return undefined
  const containerfile = join(tree.cwd, 'Containerfile')
  outputOf(builder, ['build', '-t', name, '-f', containerfile, ...given, tree.cwd], tree)
  const user = outputOf(builder, inspectionOf(builder, name), tree).toString().trim()
  if (user !== USER) throw new Error(`The image runs as ${user}, not as ${USER}`)
  outputOf(builder, savingOf(builder, { name, file }), tree)
  return builder
}

function inspectionOf(builder: Builder, name: string): string[] {
  return builder === 'buildah'
    ? ['inspect', '--type', 'image', '--format', '{{.OCIv1.Config.User}}', name]
    : ['image', 'inspect', '--format', '{{.Config.User}}', name]
}

/** All three write what `docker load` and `podman load` read. */
function savingOf(builder: Builder, { name, file }: { name: string; file: string }): string[] {
  return builder === 'buildah'
    ? ['push', name, `docker-archive:${file}:${name}`]
    : ['save', '--output', file, name]
}
