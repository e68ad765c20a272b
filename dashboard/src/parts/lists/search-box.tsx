import { useEffect, useRef, useState } from 'react'

import { useKeys } from '../keys.ts'

/** Searches on Enter: a search reads bodies, so that one for each letter would be waste. `/` comes here. */
export function SearchBox({
  label,
  value,
  find,
}: {
  label: string
  value: string | undefined
  find: (text: string | undefined) => void
}) {
  const [text, setText] = useState(value ?? '')
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => setText(value ?? ''), [value])
  useKeys({ '/': () => input.current?.focus() })
  return (
    <label className="find">
      {label}
      <input
        ref={input}
        type="search"
        maxLength={255}
        value={text}
        aria-keyshortcuts="/"
        onChange={(event) => {
          setText(event.target.value)
          if (event.target.value === '') find(undefined)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') find(text.trim() === '' ? undefined : text.trim())
          if (event.key === 'Escape') input.current?.blur()
        }}
      />
    </label>
  )
}
