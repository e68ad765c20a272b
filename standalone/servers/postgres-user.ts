import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs'

import { ask, run, type Print } from '../processes/os-process.ts'

/** Where things go that the `postgres` user must reach and cannot under the data directory or the checkout. */
const SHARED_DIRECTORY = '/var/lib/postern'

/** Who runs PostgreSQL when we are root, whom it refuses. */
export interface PostgresUser {
  uid: number
  gid: number
}

/**
 * Undefined when we are not root and run PostgreSQL ourselves. As root, the owner of the data where there is some,
 * else the user `postgres`, made when absent.
 */
export async function postgresUser(data: string, print: Print): Promise<PostgresUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  if (existsSync(data)) {
    const { uid, gid } = statSync(data)
    if (uid !== 0) return { uid, gid }
  }
  return (await findPostgres()) ?? (await makePostgres(print))
}

async function findPostgres(): Promise<PostgresUser | undefined> {
  const uid = await ask('id', ['-u', 'postgres'])
  const gid = await ask('id', ['-g', 'postgres'])
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

async function makePostgres(print: Print): Promise<PostgresUser> {
  print('PostgreSQL does not run as root: adding the system user "postgres" for it')
  await run('groupadd', ['--system', '--force', 'postgres'])
  const home = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin']
  await run('useradd', ['--system', '--gid', 'postgres', ...home, 'postgres'])
  const made = await findPostgres()
  if (made === undefined) throw new Error('Cannot find the user "postgres" that was just added')
  return made
}

/** Whether the user may enter the directory, or with `r` and `w` read and write in it. */
export async function mayUse(
  user: PostgresUser | undefined,
  path: string,
  right: 'x' | 'r' | 'w',
): Promise<boolean> {
  return (await ask('test', [`-${right}`, path], { cwd: '/', ...user })) !== undefined
}

/** A directory that the user owns and nobody else enters. */
export function makeOwned(path: string, user: PostgresUser | undefined): void {
  mkdirSync(path, { mode: 0o700 })
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

/** The shared directory: everyone may pass through it, what lies in it has owners of its own. */
export function ensureShared(): string {
  mkdirSync(SHARED_DIRECTORY, { recursive: true })
  chmodSync(SHARED_DIRECTORY, 0o711)
  return SHARED_DIRECTORY
}
