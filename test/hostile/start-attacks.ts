import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { Wish } from './attacker.ts'

const ATTACKER = fileURLToPath(new URL('attacker.ts', import.meta.url))

/** Resolves when all of them are under way: in a process of its own, so that it holds up nothing that is measured here. */
export async function startAttacks(wish: Wish): Promise<AsyncDisposable> {
  const child = spawn(process.execPath, [ATTACKER, JSON.stringify(wish)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await Promise.race([
    once(child.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`The attacker ended with ${code}`))),
  ])
  return {
    [Symbol.asyncDispose]: async () => {
      child.stdin.end()
      await ended
    },
  }
}
