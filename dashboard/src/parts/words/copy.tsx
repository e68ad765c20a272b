import { useEffect, useState } from 'react'

import './copy.css'

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (!isDone) return
    const timer = setTimeout(() => setDone(false), 2000)
    return () => clearTimeout(timer)
  }, [isDone])
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => setDone(true))
  }
  return (
    <button type="button" className="button" onClick={copy} aria-live="polite">
      {isDone ? 'Copied' : label}
    </button>
  )
}

/** A text to take elsewhere, with its button. */
export function Copyable({ text, name }: { text: string; name: string }) {
  return (
    <div className="copyable">
      <code>{text}</code>
      <CopyButton text={text} label={`Copy ${name}`} />
    </div>
  )
}

/** A command of some lines. */
export function Command({ text, name = 'command' }: { text: string; name?: string }) {
  return (
    <div className="command">
      {/* Scrolls, and so must be reachable with the keyboard. */}
      <pre tabIndex={0} role="region" aria-label={`The ${name}`}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy ${name}`} />
    </div>
  )
}
