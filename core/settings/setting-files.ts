import { readFileSync, statSync } from 'node:fs'

export type Environment = Readonly<Record<string, string | undefined>>

/** The value of a setting in the environment, without surrounding blanks. */
export interface Given {
  value?: string | undefined
  /** The file that it was read from. */
  file?: string | undefined
  fault?: string | undefined
}

const BYTES_MAX = 64 * 1024

/** Where empty is a value of its own: everywhere else it is how a shell or a chart says "not set". */
const MAY_BE_EMPTY = new Set(['DELIVERY_ALLOW_CIDRS'])

/** NAME, or the text of the file that NAME_FILE names. */
export function givenFor(name: string, env: Environment): Given {
  const value = valued(name, env[name]?.trim())
  const file = env[`${name}_FILE`]?.trim() || undefined
  if (file === undefined) return { value }
  if (value !== undefined && value !== '') {
    return { fault: `${name} and ${name}_FILE are both set: set one of them` }
  }
  return fromFile(name, file)
}

function fromFile(name: string, file: string): Given {
  const setting = `${name}_FILE ${JSON.stringify(file)}`
  try {
    const found = statSync(file)
    if (found.isDirectory()) return { fault: `${setting}: is a directory` }
    if (!found.isFile()) return { fault: `${setting}: is no regular file` }
    if (found.size > BYTES_MAX) return { fault: `${setting}: is larger than ${BYTES_MAX} bytes` }
    const value = valued(name, readFileSync(file, 'utf8').trim())
    return value === undefined ? { fault: `${setting}: is empty` } : { value, file }
  } catch (error) {
    return { fault: `${setting}: ${whyUnusable(error)}` }
  }
}

function valued(name: string, text: string | undefined): string | undefined {
  return text === '' && !MAY_BE_EMPTY.has(name) ? undefined : text
}

const WHY: Record<string, string> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is no directory',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  EISDIR: 'is a directory',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EROFS: 'the disk takes no writes',
}

/** Why a file or directory cannot be used, in words. */
export function whyUnusable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return WHY[code] ?? (error instanceof Error ? error.message : String(error))
}
