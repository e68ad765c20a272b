import { useState } from 'react'

import { AreaField, SelectField, TextField } from '../../../parts/forms/fields.tsx'
import { nested } from './clauses.ts'

const PARTS = [
  ['eventTypes', 'the event type'],
  ['body', 'in the body'],
  ['headers', 'in a header'],
  ['query', 'in the query'],
] as const

const OPERATORS = [
  ['$eq', 'is'],
  ['$neq', 'is not'],
  ['$gt', 'is more than'],
  ['$gte', 'is at least'],
  ['$lt', 'is less than'],
  ['$lte', 'is at most'],
  ['$startsWith', 'begins with'],
  ['$endsWith', 'ends with'],
  ['$exist', 'is there'],
] as const

interface Editing {
  text: string
  onChange: (text: string) => void
  /** It is a JSON object, or empty. */
  isRead: boolean
}

/** The filter as JSON, and a row that adds a clause to it: both edit one text. */
export function FilterEditor({ text, onChange, isRead }: Editing) {
  return (
    <>
      <AreaField
        label="Filter as JSON"
        hint={
          <>
            An event must match every part. Empty: everything passes. <code>eventTypes</code>,{' '}
            <code>headers</code>, <code>query</code>, <code>body</code>.
          </>
        }
        fault={isRead ? undefined : 'This is no JSON object'}
        rows={12}
        value={text}
        onChange={onChange}
      />
      <AddClause text={text} onChange={onChange} isRead={isRead} />
    </>
  )
}

function AddClause({ text, onChange, isRead }: Editing) {
  const [part, setPart] = useState<(typeof PARTS)[number][0]>('body')
  const [path, setPath] = useState('')
  const [operator, setOperator] = useState<(typeof OPERATORS)[number][0]>('$eq')
  const [value, setValue] = useState('')
  const isType = part === 'eventTypes'
  const add = () => {
    const addition = isType
      ? { eventTypes: [value] }
      : nested(
          [part, ...(part === 'body' ? path.split('.') : [path.toLowerCase()])],
          conditionOf(operator, value),
        )
    onChange(JSON.stringify(merged(parsed(text), addition), null, 2))
    setValue('')
  }
  return (
    <details>
      <summary>Add a clause</summary>
      <div className="form">
        <div className="side-by-side">
          <SelectField label="Where" value={part} onChange={setPart} options={PARTS} />
          {!isType && (
            <TextField
              label={part === 'body' ? 'Path' : 'Name'}
              placeholder={part === 'body' ? 'data.amount' : 'x-region'}
              isMono
              value={path}
              onChange={setPath}
            />
          )}
          {!isType && (
            <SelectField
              label="Condition"
              value={operator}
              onChange={setOperator}
              options={OPERATORS}
            />
          )}
          <TextField
            label="Value"
            placeholder={isType ? 'invoice.*' : '100'}
            isMono
            value={value}
            onChange={setValue}
          />
        </div>
        {!isRead && (
          <p className="muted">
            The filter above is no JSON object yet: nothing can be added to it.
          </p>
        )}
        <button
          type="button"
          className="button"
          disabled={!isRead || (!isType && path === '')}
          onClick={add}
        >
          Add it
        </button>
      </div>
    </details>
  )
}

/** A bare value is `$eq`. A text that is JSON is that value, any other is a text. */
function conditionOf(operator: string, text: string): unknown {
  if (operator === '$exist') return { $exist: text !== 'false' }
  const value = parsedOr(text, text)
  return operator === '$eq' ? value : { [operator]: value }
}

function parsedOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

const parsed = (text: string): unknown => parsedOr(text, {})

function merged(before: unknown, addition: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(addition)) return [...before, ...addition]
  if (!isMembers(before) || !isMembers(addition)) return addition
  const both: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(addition)) both[name] = merged(before[name], value)
  return both
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
