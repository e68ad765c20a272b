import { readFileSync, renameSync, writeFileSync } from 'node:fs'

import { inject } from 'vitest'

const { clockFile } = inject('installation')

const shiftMs = (): number => Number(readFileSync(clockFile, 'utf8'))

/** The time of the installation. */
export function nowMs(): number {
  return Date.now() + shiftMs()
}

/** Moves the whole installation ahead, for good. Its processes notice one after the other, within a moment. */
export function advance(ms: number): void {
  const next = `${clockFile}.next`
  writeFileSync(next, String(shiftMs() + ms))
  renameSync(next, clockFile)
}
