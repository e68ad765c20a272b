import { useId, type ReactNode } from 'react'

interface Described {
  label: string
  hint?: ReactNode
  fault?: string | undefined
}

/** A label, a control, a hint and the fault that the server found, tied together for screen readers. */
function Field({
  label,
  hint,
  fault,
  control,
}: Described & {
  control: (tie: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode
}) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, fault !== undefined && `${id}-fault`]
    .filter((each) => each !== false)
    .join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {control({
        id,
        ...(described === '' ? {} : { 'aria-describedby': described }),
        ...(fault === undefined ? {} : { 'aria-invalid': true }),
      })}
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {fault !== undefined && (
        <span className="fault" id={`${id}-fault`}>
          {fault}
        </span>
      )}
    </div>
  )
}

interface TextProps extends Described {
  value: string
  onChange: (value: string) => void
  type?: string
  autoComplete?: string
  placeholder?: string
  pattern?: string
  /** Says what the pattern allows. */
  title?: string
  required?: boolean
  autoFocus?: boolean
  isMono?: boolean
  readOnly?: boolean
  disabled?: boolean
}

export function TextField({ label, hint, fault, value, onChange, isMono, ...input }: TextProps) {
  return (
    <Field
      label={label}
      hint={hint}
      fault={fault}
      control={(tie) => (
        <input
          {...tie}
          {...input}
          className={isMono === true ? 'mono' : undefined}
          spellCheck={isMono === true ? false : undefined}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    />
  )
}

export function AreaField({
  label,
  hint,
  fault,
  value,
  onChange,
  rows = 6,
  ...input
}: TextProps & { rows?: number }) {
  return (
    <Field
      label={label}
      hint={hint}
      fault={fault}
      control={(tie) => (
        <textarea
          {...tie}
          rows={rows}
          spellCheck={false}
          placeholder={input.placeholder}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    />
  )
}

export function SelectField<T extends string>({
  label,
  hint,
  fault,
  value,
  onChange,
  options,
  disabled,
}: Described & {
  value: T
  onChange: (value: T) => void
  options: readonly (readonly [T, string])[]
  disabled?: boolean
}) {
  return (
    <Field
      label={label}
      hint={hint}
      fault={fault}
      control={(tie) => (
        <select
          {...tie}
          value={value}
          disabled={disabled}
          onChange={(event) => {
            const chosen = options.find(([option]) => option === event.target.value)
            if (chosen !== undefined) onChange(chosen[0])
          }}
        >
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    />
  )
}

export function CheckField({
  label,
  value,
  onChange,
  hint,
  disabled,
}: {
  label: string
  value: boolean
  onChange: (value: boolean) => void
  hint?: ReactNode
  disabled?: boolean
}) {
  const id = useId()
  return (
    <div className="field">
      <div className="check">
        <input
          id={id}
          type="checkbox"
          checked={value}
          disabled={disabled}
          onChange={(event) => onChange(event.target.checked)}
        />
        <label htmlFor={id}>{label}</label>
      </div>
      {hint !== undefined && <span className="hint">{hint}</span>}
    </div>
  )
}
