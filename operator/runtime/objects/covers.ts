import { quantityOf } from './quantity.ts'

/** Members by which Kubernetes tells the items of a list apart. */
const MERGE_KEYS = ['name', 'mountPath', 'containerPort', 'topologyKey', 'uid'] as const

/** `700m` is 700 × 0.001, which is a little more than `0.7` to a computer. */
const QUANTITY_TOLERANCE = 1e-9

/**
 * Whether an object has everything that we want of it. It may have more: the server adds defaults, and admission webhooks
 * add containers, variables and labels, which are theirs. It may lack what is empty: the server leaves that out. Quantities
 * are compared as numbers.
 */
export function covers(wanted: unknown, found: unknown): boolean {
  if (Array.isArray(wanted)) return coversList(wanted, found ?? [])
  if (isRecord(wanted)) {
    const has = isRecord(found) ? found : {}
    return Object.entries(wanted).every(([name, value]) => covers(value, has[name]))
  }
  if (wanted === undefined || wanted === null) return true
  if (wanted === found || (wanted === '' && (found === undefined || found === null))) return true
  if (typeof found !== 'string') return false
  if (typeof wanted !== 'string' && typeof wanted !== 'number') return false
  const [one, other] = [quantityOf(String(wanted)), quantityOf(found)]
  return one !== undefined && other !== undefined && isClose(one, other)
}

function isClose(one: number, other: number): boolean {
  return Math.abs(one - other) <= QUANTITY_TOLERANCE * Math.max(Math.abs(one), Math.abs(other))
}

function coversList(wanted: readonly unknown[], found: unknown): boolean {
  if (!Array.isArray(found)) return false
  const key = MERGE_KEYS.find((name) => wanted.every((item) => isRecord(item) && name in item))
  if (key === undefined || wanted.length === 0) {
    return wanted.length === found.length && wanted.every((item, at) => covers(item, found[at]))
  }
  return wanted.every((item) => {
    const name = isRecord(item) ? item[key] : undefined
    // Two ports of a number, or two constraints on a topology, may differ in another member.
    return found.some((other) => isRecord(other) && other[key] === name && covers(item, other))
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
