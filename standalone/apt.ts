import { chmodSync, copyFileSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'

import { ask, run } from './os-process.ts'

/**
 * Takes one program out of a Debian package into `directory`, without root and without installing anything. Where
 * the system has no package lists (a fresh container), private ones are downloaded first. Throws when apt cannot.
 */
export async function fetchWithApt(
  name: string,
  program: string,
  directory: string,
): Promise<void> {
  const work = join(directory, `apt.${process.pid}`)
  mkdirSync(work, { recursive: true })
  try {
    const options = ['-o', 'APT::Sandbox::User=root']
    const plain = await ask('apt-get', [...options, 'download', name], { cwd: work })
    if (plain === undefined) await downloadWithOwnLists(name, work, options)
    const archive = readdirSync(work).find((file) => file.endsWith('.deb'))
    if (archive === undefined) throw new Error(`apt-get download left no ${name} package`)
    await run('dpkg-deb', ['-x', join(work, archive), join(work, 'tree')])
    const draft = join(work, basename(program))
    copyFileSync(join(work, 'tree', program), draft)
    chmodSync(draft, 0o755)
    renameSync(draft, join(directory, basename(program)))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function downloadWithOwnLists(name: string, work: string, base: string[]): Promise<void> {
  const state = join(work, 'state')
  mkdirSync(join(state, 'lists', 'partial'), { recursive: true })
  mkdirSync(join(work, 'cache', 'archives', 'partial'), { recursive: true })
  const options = [...base, '-o', `Dir::State=${state}`, '-o', `Dir::Cache=${join(work, 'cache')}`]
  await run('apt-get', [...options, '-o', 'Dir::State::status=/var/lib/dpkg/status', 'update'])
  await run('apt-get', [...options, 'download', name], { cwd: work })
}
