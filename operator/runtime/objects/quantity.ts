const QUANTITY =
  /^([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|u|n|[eE][+-]?\d+)?$/

const DECIMAL: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
}

/** The number of a resource quantity: `0.1` and `100m` are the same. Undefined for what is none. */
export function quantityOf(text: string): number | undefined {
  const [, digits, suffix = ''] = QUANTITY.exec(text) ?? []
  if (digits === undefined) return undefined
  const number = Number(digits)
  if (suffix === '') return number
  if (/^[eE][+-]?\d+$/.test(suffix)) return Number(`${digits}${suffix}`)
  if (suffix.endsWith('i')) return number * 1024 ** ('KMGTPE'.indexOf(suffix.charAt(0)) + 1)
  return number * (DECIMAL[suffix] ?? Number.NaN)
}
