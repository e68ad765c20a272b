import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
} from 'node:fs'

const BYTES_MAX = 10 * 1024 * 1024

/**
 * Keeps a log below 10 MB, with one older file of that size in `<file>.1`. The file is emptied in place because its
 * writers hold it open for appending and outlive us.
 */
export function trimLog(file: string): void {
  if (!existsSync(file) || statSync(file).size < BYTES_MAX) return
  copyFileSync(file, `${file}.1`)
  truncateSync(file)
}

/** Calls `use` with a descriptor that appends to the file. */
export function withLog<T>(file: string, use: (descriptor: number) => T): T {
  trimLog(file)
  const descriptor = openSync(file, 'a', 0o600)
  try {
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The last lines of a log, for a message about the process that wrote it. */
export function lastLines(file: string, count: number): string {
  if (!existsSync(file)) return ''
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
}
