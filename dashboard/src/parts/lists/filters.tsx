import { useEffect, useId, useState } from 'react'

/** A filter of a list; "any" is no filter. */
export function FilterChoice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: T | undefined
  options: readonly (readonly [T, string])[]
  onChange: (value: T | undefined) => void
}) {
  return (
    <label>
      {label}
      <select
        value={value ?? ''}
        onChange={(event) =>
          onChange(options.find(([option]) => option === event.target.value)?.[0])
        }
      >
        <option value="">any</option>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A filter that is written, and applied by Enter or by leaving it. */
export function FilterText({
  label,
  value,
  pattern,
  title,
  hints,
  onChange,
}: {
  label: string
  value: string | undefined
  pattern: string
  /** Says what the pattern allows. */
  title: string
  hints: readonly string[]
  onChange: (value: string | undefined) => void
}) {
  const [text, setText] = useState(value ?? '')
  const list = useId()
  useEffect(() => setText(value ?? ''), [value])
  const apply = (input: HTMLInputElement) => {
    const written = input.value.trim()
    if (written !== (value ?? '') && input.validity.valid) onChange(written || undefined)
  }
  return (
    <label>
      {label}
      <input
        type="text"
        autoComplete="off"
        placeholder="any"
        value={text}
        pattern={pattern}
        title={title}
        list={list}
        onChange={(event) => setText(event.target.value)}
        onBlur={(event) => apply(event.currentTarget)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          // A report moves the focus to the field, so that nobody could leave it by Tab.
          event.currentTarget.reportValidity()
          apply(event.currentTarget)
        }}
      />
      <datalist id={list}>
        {hints.map((hint) => (
          <option key={hint} value={hint} />
        ))}
      </datalist>
    </label>
  )
}

/** A time in this browser's zone; the address keeps it in UTC. */
export function MomentBox({
  label,
  value,
  onChange,
}: {
  label: string
  value: string | undefined
  onChange: (value: string | undefined) => void
}) {
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        step={1}
        value={value === undefined ? '' : localText(value)}
        onChange={(event) => {
          const written = event.target.value
          onChange(written === '' ? undefined : new Date(written).toISOString())
        }}
      />
    </label>
  )
}

/** As the control writes it: local, without a zone. */
function localText(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
