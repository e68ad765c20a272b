import { fileURLToPath } from 'node:url'

/**
 * Directory in which Node caches compiled modules (`NODE_COMPILE_CACHE`) when a process ends. A process that finds them
 * starts in half the time and with 29 MB less, because it does not load Node's TypeScript compiler.
 */
export const COMPILE_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/node', import.meta.url),
)

/**
 * How much a heap may grow before V8 looks for garbage among what is old. Left alone, one of 30 MB grows to 150. Looking at
 * twice its size costs ingest nothing that can be measured; at three times it took 250 MB with 100,000 waiting, of the 200 that
 * it may take. At twice a worker looks 13 times in a drain of 100,000; at three times a delivery costs it 60 us, not 65, and it
 * takes 224 MB, at most 229 while they come, of 260.
 */
const GROWTH_PERCENT = 100
const WORKER_GROWTH_PERCENT = 200

/**
 * How a role is started. A young generation of 12 MB instead of 16 costs nothing that can be measured (one of 8 takes a tenth
 * more CPU), nor do two helping threads instead of four, each with memory of its own: 20 to 40 MB less in ingest and worker.
 * The main thread collects the young generation by itself: a helper spends as much again as it saves it (4.5 ms and 5.3, 20
 * times a second in a drain).
 */
export function roleArguments(name: string): string[] {
  return [
    `--heap-growing-percent=${name === 'worker' ? WORKER_GROWTH_PERCENT : GROWTH_PERCENT}`,
    '--max-semi-space-size=12',
    '--v8-pool-size=2',
    '--no-parallel-scavenge',
    '--import',
    new URL('parent-watch.ts', import.meta.url).href,
  ]
}
