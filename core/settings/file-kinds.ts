import { accessSync, constants, readFileSync, statSync } from 'node:fs'

import { z } from 'zod'

import { whyUnusable } from './setting-files.ts'
import { refuse } from './setting-kinds.ts'

const CLOCK_BYTES_MAX = 64
const PROGRAM_EXAMPLE = '/usr/local/bin/nats-server'

/** Why this user cannot read the file; undefined when it can. */
export function fileFault(path: string, mode = constants.R_OK): string | undefined {
  try {
    accessSync(path, mode)
    const found = statSync(path)
    if (found.isDirectory()) return 'is a directory'
    return found.isFile() ? undefined : 'is no regular file'
  } catch (error) {
    return whyUnusable(error)
  }
}

/** A file, by its path. */
export const readableFile = z.string().transform((path, context) => {
  const fault = fileFault(path)
  return fault === undefined ? path : refuse(context, fault)
})

/** A file of milliseconds to add to the clock. Empty is 0: whoever writes it may have begun to. */
export const clockFile = z.string().transform((path, context) => {
  const fault = fileFault(path) ?? clockFault(path)
  return fault === undefined ? path : refuse(context, fault)
})

function clockFault(path: string): string | undefined {
  if (statSync(path).size > CLOCK_BYTES_MAX) return `is larger than ${CLOCK_BYTES_MAX} bytes`
  const text = readFileSync(path, 'utf8')
  return Number.isFinite(Number(text))
    ? undefined
    : 'must hold a number of milliseconds, such as 86400000'
}

/** A program, by its path. */
export const program = z.string().transform((path, context) => {
  const fault = path.includes('/') ? programFault(path) : `must be a path: ${PROGRAM_EXAMPLE}`
  return fault === undefined ? path : refuse(context, fault)
})

function programFault(path: string): string | undefined {
  const fault = fileFault(path)
  if (fault !== undefined) return fault
  return fileFault(path, constants.X_OK) === undefined
    ? undefined
    : 'is no program: it may not be executed'
}
