import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { SETTING_NAMES } from '../../core/config.ts'
import { readVersion } from '../../core/tracing/version.ts'
import { outputOf, type CommandOptions } from './command.ts'
import { changedOf, sumLines, sumsOf } from './files.ts'
import { readOptions, type Options } from './options.ts'
import { packCommit, packFolder, type Commit } from './packed.ts'
import { packCharts } from './parts/charts.ts'
import { definitionsIn } from './parts/definitions.ts'
import { buildImage } from './parts/image.ts'
import { partsListOf } from './parts/parts-list.ts'
import { changesOf } from './ready/changelog.ts'
import { otherVersions, versionsIn } from './ready/stated-versions.ts'
import { treeFaults } from './ready/tree-faults.ts'
import { startsAndStores } from './starts.ts'

/**
 * `npm run release`: makes and checks all that a version is given away as, in dist/release (docs/release.md). Everything
 * is made of the last commit, unpacked elsewhere, so that nothing else of this work tree gets in.
 */
const ROOT = resolve(import.meta.dirname, '../..')
const TARGET = join(ROOT, 'dist/release')
/** A tree's own scripts run with neither what npm says of this script nor a setting of Postern, but for where NATS is. */
const OF_THIS_SCRIPT =
  /^(?:npm_(?:lifecycle|package|command|config_(?:local_|global_)?prefix)|INIT_CWD$)/
const dropped = new Set(SETTING_NAMES.filter((name) => name !== 'NATS_SERVER_BIN'))
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !OF_THIS_SCRIPT.test(name) && !dropped.has(name)),
)
const VERSION = readVersion()
const NAME = `postern-${VERSION}`
/** Scripts that write files of the tree. */
const GENERATORS = ['crds', 'charts:values', 'docs:providers']

const here: CommandOptions = { cwd: ROOT, env }
const git = (...args: string[]): string => outputOf('git', args, here).toString().trim()
const put = (name: string, content: string | Buffer): void =>
  writeFileSync(join(TARGET, name), content)

try {
  const options = readOptions(process.argv.slice(2))
  const work = mkdtempSync(join(tmpdir(), 'postern-release-'))
  try {
    // As root, PostgreSQL runs as a user of its own and must get through.
    chmodSync(work, 0o711)
    await release(options, work)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function release(options: Options, work: string): Promise<void> {
  const commit = { id: git('rev-parse', 'HEAD'), seconds: Number(git('log', '-1', '--format=%ct')) }
  const paths = git('ls-tree', '-r', '-z', '--name-only', commit.id).split('\0').filter(Boolean)
  begin('tree')
  const faults = treeFaults(ROOT, {
    version: VERSION,
    paths,
    uncommitted: git('status', '--porcelain'),
  })
  if (faults.length > 0 && !options.isRehearsal) throw new Error(faults.join('\n'))
  for (const fault of faults) console.log(`Not a release yet: ${fault}`)
  rmSync(TARGET, { recursive: true, force: true })
  mkdirSync(TARGET, { recursive: true })

  begin('source')
  const archive = `postern-source-${VERSION}.tar.gz`
  put(archive, packCommit(commit, NAME, here))
  outputOf('tar', ['-xzf', join(TARGET, archive)], { ...here, cwd: work })
  const tree = { cwd: join(work, NAME), env }
  await checkSource(tree, { paths, work })

  begin('charts and definitions')
  packCharts(tree, { target: TARGET, commit, work })
  put(`postern-crds-${VERSION}.yaml`, definitionsIn(join(tree.cwd, 'crds')))
  begin('documentation')
  makeDocuments(tree, { commit, work })
  begin('parts list')
  put(`postern-${VERSION}.cdx.json`, partsListOf(tree, commit))
  const image = options.hasImage ? makeImage(tree) : 'left out, as asked'
  put('SHA256SUMS', sumLines(sumsOf(TARGET, readdirSync(TARGET).toSorted())))
  outputOf('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { ...here, cwd: TARGET })
  console.log(`\n${readFileSync(join(TARGET, 'SHA256SUMS'), 'utf8')}image: ${image}`)
}

function begin(step: string): void {
  console.log(`== ${step}`)
}

/** The archive alone is enough: it has every file, its generated ones are up to date, and it starts. */
async function checkSource(
  tree: CommandOptions,
  { paths, work }: { paths: readonly string[]; work: string },
): Promise<void> {
  const before = sumsOf(tree.cwd, paths)
  const gone = paths.filter((path) => !before.has(path))
  if (gone.length > 0) throw new Error(`Not in the source archive: ${gone.join(', ')}`)
  begin('npm ci')
  outputOf('npm', ['ci', '--no-audit', '--no-fund'], tree)
  begin('generated files')
  for (const script of GENERATORS) outputOf('npm', ['run', script], tree)
  const stale = changedOf(before, sumsOf(tree.cwd, paths))
  if (stale.length > 0) {
    throw new Error(`Not up to date, after ${GENERATORS.join(', ')}: ${stale.join(', ')}`)
  }
  begin('npm start')
  await startsAndStores(tree, work)
}

function makeDocuments(
  tree: CommandOptions,
  { commit, work }: { commit: Commit; work: string },
): void {
  outputOf('npm', ['run', 'build:docs'], tree)
  const document = readFileSync(join(tree.cwd, 'docs/site/openapi.json'), 'utf8')
  const others = otherVersions(VERSION, versionsIn('openapi.json', document))
  if (others.length > 0) throw new Error(others.join('\n'))
  put(`postern-openapi-${VERSION}.json`, document)
  const folder = `postern-docs-${VERSION}`
  cpSync(join(tree.cwd, 'docs/site/dist'), join(work, folder), { recursive: true })
  put(`${folder}.tar.gz`, packFolder(folder, commit, { ...tree, cwd: work }))
  const changes = changesOf(readFileSync(join(tree.cwd, 'CHANGELOG.md'), 'utf8'), VERSION)
  if (changes !== undefined) put(`postern-changes-${VERSION}.md`, `${changes}\n`)
}

/** Returns a sentence about it. */
function makeImage(tree: CommandOptions): string {
  begin('image')
  const given = (process.env['IMAGE_BUILD_OPTIONS'] ?? '').split(' ').filter(Boolean)
  const name = `postern:${VERSION}`
  const file = join(TARGET, `postern-image-${VERSION}.tar`)
  const builder = buildImage(tree, { name, file, given })
  return builder === undefined
    ? 'left out: this machine has neither buildah nor podman nor docker'
    : `${name}, built with ${builder}`
}
