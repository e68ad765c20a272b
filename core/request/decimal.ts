/** A number as its text says it, whatever a double could hold of it: 0.`digits` times ten to the `magnitude`. */
interface Decimal {
  isNegative: boolean
  /** Without zeros at either end; empty for zero. */
  digits: string
  magnitude: number
}

/** Negative, zero or positive, as two numbers in JSON's notation compare. Exact, whatever their length. */
export function compareDecimals(left: string, right: string): number {
  const a = decimalOf(left)
  const b = decimalOf(right)
  const sign = signOf(a)
  if (sign !== signOf(b)) return sign - signOf(b)
  if (a.magnitude !== b.magnitude) return a.magnitude < b.magnitude ? -sign : sign
  if (a.digits === b.digits) return 0
  return a.digits < b.digits ? -sign : sign
}

function signOf({ isNegative, digits }: Decimal): number {
  if (digits === '') return 0
  return isNegative ? -1 : 1
}

const PARTS = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/

function decimalOf(text: string): Decimal {
  const [, sign, whole = '', fraction = '', exponent = '0'] = PARTS.exec(text) ?? []
  const all = whole + fraction
  let start = 0
  while (all[start] === '0') start += 1
  let end = all.length
  while (end > start && all[end - 1] === '0') end -= 1
  const digits = all.slice(start, end)
  return {
    isNegative: sign === '-',
    digits,
    magnitude: digits === '' ? 0 : whole.length - start + Number(exponent),
  }
}
