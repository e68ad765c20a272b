import { useEffect, useRef } from 'react'

const SWITCH = 'postern.keys'

/** Single-key commands can be switched off, as WCAG 2.1.4 asks. */
export const areKeysOn = (): boolean => localStorage.getItem(SWITCH) !== 'off'
export const switchKeys = (isOn: boolean): void => localStorage.setItem(SWITCH, isOn ? 'on' : 'off')

const SEQUENCE_MS = 1200

/** The key before the present one if it can begin a sequence such as `g e`, and when it was pressed. */
let before = { key: '', at: 0 }

/** Runs a command for a key, or for two in a row (`g e`). Dead in fields and while a dialog is open. */
export function useKeys(commands: Readonly<Record<string, () => void>>): void {
  const latest = useRef(commands)
  useEffect(() => {
    latest.current = commands
  })
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isCommand(event)) return
      const isSecond = before.key !== '' && event.timeStamp - before.at < SEQUENCE_MS
      const name = isSecond ? `${before.key} ${event.key}` : event.key
      const command = latest.current[name]
      if (command === undefined) return
      event.preventDefault()
      command()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** Remembers the key before this one, ahead of every other listener. */
export function watchSequences(): void {
  let last = before
  const remember = (event: KeyboardEvent) => {
    before = last
    last = { key: event.key === 'g' && isCommand(event) ? 'g' : '', at: event.timeStamp }
  }
  addEventListener('keydown', remember, { capture: true })
}

function isCommand(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false
  if (document.querySelector('dialog[open]') !== null || !areKeysOn()) return false
  const { target } = event
  if (!(target instanceof HTMLElement)) return true
  // Enter and the space bar belong to the control that has the focus.
  const isOnControl = target.closest('button, a, summary, [role="tab"]') !== null
  if (isOnControl && (event.key === 'Enter' || event.key === ' ')) return false
  return target.closest('input, textarea, select, [contenteditable]') === null
}
