import { gzipSync } from 'node:zlib'

import { outputOf, type CommandOptions } from './command.ts'

/** A commit and the moment it was made, in seconds: what is packed has no other time. */
export interface Commit {
  id: string
  seconds: number
}

/** The files of a commit below `<prefix>/`, as .tar.gz. */
export function packCommit({ id }: Commit, prefix: string, options: CommandOptions): Buffer {
  const tar = outputOf('git', ['archive', '--format=tar', `--prefix=${prefix}/`, id], options)
  return gzipSync(tar, { level: 9 })
}

/** A folder and what lies below it, as .tar.gz: the same bytes for the same files. */
export function packFolder(folder: string, { seconds }: Commit, options: CommandOptions): Buffer {
  const stable = ['--sort=name', `--mtime=@${seconds}`, '--owner=0', '--group=0', '--numeric-owner']
  const modes = ['--mode=u=rwX,go=rX', '--format=gnu']
  return gzipSync(outputOf('tar', [...stable, ...modes, '-cf', '-', folder], options), { level: 9 })
}
