import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const SKIPPED = new Set([
  'node_modules',
  '.git',
  '.postern',
  'dist',
  'schema.d.ts',
  'results',
  'vectors',
  'package-lock.json',
])

/** Every text file of the repository, by its path from the root. */
export const files = filesBelow(ROOT)
export const sources = files.filter((file) => /\.tsx?$/.test(file))

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => !SKIPPED.has(entry.name))
    .flatMap((entry) => {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) return filesBelow(path)
      return entry.isFile() && /\.(ts|tsx|md|json|ya?ml|sh)$|^run$|^Dockerfile/.test(entry.name)
        ? [relative(ROOT, path)]
        : []
    })
}

/** `core`, `api`, one program of the data plane, or `dataplane` for what its programs share. */
export function programOf(file: string): string {
  const [first = '', second = '', third] = file.split('/')
  return first === 'dataplane' && third !== undefined ? `${first}/${second}` : first
}

/** Every import of a file of the repository, those of types among them. */
export function imports(): { from: string; to: string }[] {
  return sources
    .filter((file) => file.includes('/'))
    .flatMap((from) =>
      specifiersIn(from)
        .filter((name) => name.startsWith('.'))
        .map((name) => ({ from, to: normalize(join(dirname(from), name)) })),
    )
}

export function specifiersIn(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const found = text.matchAll(/(?:\bfrom|\bimport|\bimport\(|\.resolve\()\s*'([^']+)'/g)
  return [...found].map(([, name]) => name ?? '')
}

/** Groups of files that import each other in a circle, types included; each sorted. */
export function circles(edges: readonly { from: string; to: string }[]): string[][] {
  const next = Map.groupBy(edges, ({ from }) => from)
  const reach = new Map([...next.keys()].map((file) => [file, reachedFrom(file, next)]))
  const isBack = (file: string, other: string): boolean => reach.get(other)?.has(file) === true
  const groups = [...reach].flatMap(([file, reached]) =>
    reached.has(file) ? [[...reached].filter((other) => isBack(file, other)).toSorted()] : [],
  )
  return [...new Map(groups.map((group) => [group.join(), group])).values()]
}

function reachedFrom(file: string, next: ReadonlyMap<string, { to: string }[]>): Set<string> {
  const reached = new Set<string>()
  const open = [file]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const { to } of next.get(at) ?? []) {
      if (!reached.has(to)) open.push(to)
      reached.add(to)
    }
  }
  return reached
}
