import { readFile } from 'node:fs/promises'

import { SOCKETS_MAX } from '../../core/limits.ts'

/** Descriptors for all that is no attempt: servers, test deliveries, access tokens, files. */
const OTHERS = 512

/** How many attempts may be under way at once, by what a process of Linux may open. Elsewhere there is no such file. */
export async function socketsOf(limitsFile: string): Promise<number> {
  const text = await readFile(limitsFile, 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1]
  if (soft === undefined) return SOCKETS_MAX
  const descriptors = Number(soft)
  return Math.min(SOCKETS_MAX, Math.max(descriptors - OTHERS, Math.floor(descriptors / 2)))
}
