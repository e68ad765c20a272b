const SHOWN_MAX = 200

export interface Difference {
  path: string
  there: string | undefined
  here: string | undefined
}

/** Members that differ, in the order of both bodies. */
export function differences(there: unknown, here: unknown): Difference[] {
  const before = leavesOf(there)
  const after = leavesOf(here)
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .slice(0, SHOWN_MAX)
    .map((path) => ({ path, there: before.get(path), here: after.get(path) }))
}

function leavesOf(value: unknown): Map<string, string> {
  const leaves = new Map<string, string>()
  const visit = (part: unknown, path: string): void => {
    const members = typeof part === 'object' && part !== null ? Object.entries(part) : []
    if (members.length === 0) leaves.set(path === '' ? 'body' : path, JSON.stringify(part) ?? '')
    for (const [key, member] of members) visit(member, path === '' ? key : `${path}.${key}`)
  }
  visit(value, '')
  return leaves
}
