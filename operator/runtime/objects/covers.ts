import { quantityOf } from './quantity.ts'

/** Members by which Kubernetes tells the items of a list apart. */
const MERGE_KEYS = ['name', 'mountPath', 'containerPort', 'topologyKey', 'uid'] as const

/**
 * Whether an object has everything that we want of it. It may have more: the server adds defaults, and admission webhooks
 * add containers, variables and labels, which are theirs. Quantities are compared as numbers.
 */
export function covers(wanted: unknown, found: unknown): boolean {
  if (Array.isArray(wanted)) return Array.isArray(found) && coversList(wanted, found)
  if (isRecord(wanted)) {
    const has = isRecord(found) ? found : {}
    return Object.entries(wanted).every(([name, value]) => covers(value, has[name]))
  }
  if (wanted === undefined || wanted === null) return true
  if (wanted === found) return true
  if (typeof found !== 'string') return false
  if (typeof wanted !== 'string' && typeof wanted !== 'number') return false
  const [one, other] = [quantityOf(String(wanted)), quantityOf(found)]
  return one !== undefined && one === other
}

function coversList(wanted: readonly unknown[], found: readonly unknown[]): boolean {
  const key = MERGE_KEYS.find((name) => wanted.every((item) => isRecord(item) && name in item))
  if (key === undefined || wanted.length === 0) {
    return wanted.length === found.length && wanted.every((item, at) => covers(item, found[at]))
  }
  return wanted.every((item) => {
    const name = isRecord(item) ? item[key] : undefined
    const twin = found.find((other) => isRecord(other) && other[key] === name)
    return twin !== undefined && covers(item, twin)
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
