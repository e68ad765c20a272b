import { DAY_MS } from '../words/spans.ts'
import { SelectField } from './fields.tsx'

const ENDS = [
  ['', 'never'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
] as const

/** In how many days a secret ends; empty is never. */
export type End = (typeof ENDS)[number][0]

export function EndField({
  value,
  onChange,
  fault,
}: {
  value: End
  onChange: (end: End) => void
  fault: string | undefined
}) {
  return (
    <SelectField
      label="Ends"
      hint="Fixed from now on."
      value={value}
      onChange={onChange}
      options={ENDS}
      fault={fault}
    />
  )
}

/** The member of a request that says it. */
export function expiryIn(end: End): { expiresAt?: string } {
  if (end === '') return {}
  return { expiresAt: new Date(Date.now() + Number(end) * DAY_MS).toISOString() }
}
