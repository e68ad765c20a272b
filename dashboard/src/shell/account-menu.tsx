import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'

import { Icon } from '../parts/icon.tsx'
import { signOut, useSession } from '../session/session.ts'
import { setTheme, themeNow, THEMES } from '../session/theme.ts'
import { showHelp } from './keyboard/overlays.ts'

import './account-menu.css'

/** A disclosure rather than a menu, so that Tab goes through it as through the rest of the page. */
export function AccountMenu() {
  const { user } = useSession()
  const [theme, setShown] = useState(themeNow)
  const details = useRef<HTMLDetailsElement>(null)
  const close = () => {
    if (details.current !== null) details.current.open = false
  }
  return (
    <details
      ref={details}
      className="menu"
      // The palette chooses a theme as well.
      onToggle={() => setShown(themeNow())}
      onKeyDown={(event) => event.key === 'Escape' && close()}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && close()}
    >
      <summary className="button quiet" aria-label={`Account of ${user.name}`}>
        <Icon name="person" />
        <span>{user.name}</span>
      </summary>
      <div className="list">
        <p className="muted">{user.email}</p>
        <Link to="/me" className="button quiet" onClick={close}>
          Your account
        </Link>
        <a href="/docs" className="button quiet">
          API reference
        </a>
        <button type="button" className="button quiet" onClick={showHelp}>
          Keyboard
        </button>
        <fieldset className="themes">
          <legend>Theme</legend>
          {THEMES.map(([value, label]) => (
            <label key={value} className="check">
              <input
                type="radio"
                name="theme"
                checked={theme === value}
                onChange={() => {
                  setTheme(value)
                  setShown(value)
                }}
              />
              {label}
            </label>
          ))}
        </fieldset>
        <button type="button" className="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </details>
  )
}
