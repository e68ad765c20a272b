import { chmodSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { SettingsError } from '../core/config.ts'
import { whyUnusable } from '../core/settings/setting-files.ts'

/** More than the programs write before they begin to work. */
const TRIAL_BYTES = 256 * 1024

/** The faults of a data directory, for an error that names them all. */
export function dataDirFaults(path: string): string[] {
  try {
    makeDataDir(path)
    return []
  } catch (error) {
    if (error instanceof SettingsError) return [...error.faults]
    throw error
  }
}

/**
 * Makes the directory and its `logs`, and returns its real path. Throws a SettingsError when it takes no files. As root it
 * lets others pass: PostgreSQL, run by a user of its own, keeps its data below it.
 */
export function makeDataDir(path: string): string {
  try {
    mkdirSync(join(path, 'logs'), { recursive: true, mode: 0o700 })
    const dataDir = realpathSync(resolve(path))
    chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700)
    const trial = join(dataDir, `trial.${process.pid}`)
    try {
      writeFileSync(trial, Buffer.alloc(TRIAL_BYTES))
    } finally {
      rmSync(trial, { force: true })
    }
    return dataDir
  } catch (error) {
    throw new SettingsError([`DATA_DIR ${JSON.stringify(resolve(path))}: ${whyUnusable(error)}`])
  }
}
