import { readdirSync, readFileSync } from 'node:fs'

import { commandOf } from '../../standalone/processes/os-process.ts'

/** The pids of the processes that `parent` started and whose command line has `part` in it. Linux only. */
export function childrenOf(parent: number, part = ''): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent && commandOf(pid).includes(part))
}

function parentOf(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)
    return Number(fields?.split(' ')[1])
  } catch {
    return undefined // It ended meanwhile.
  }
}
