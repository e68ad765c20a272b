import { Link, useNavigate } from '@tanstack/react-router'

import { Icon } from '../parts/icon.tsx'
import type { Current } from '../session/current.ts'
import { AccountMenu } from './account-menu.tsx'
import { Bell } from './bell.tsx'
import { openPalette } from './keyboard/overlays.ts'

export function Bar({ current }: { current: Current | undefined }) {
  return (
    <header className="bar">
      <Link to="/" className="wordmark" aria-label="Postern, overview">
        <Icon name="gate" />
        <span>Postern</span>
      </Link>
      {current !== undefined && <Switcher current={current} />}
      <button
        type="button"
        className="button find"
        onClick={openPalette}
        aria-keyshortcuts="Control+K"
      >
        <Icon name="search" />
        Find a page or paste an id
        <kbd>Ctrl K</kbd>
      </button>
      <div className="end">
        {current !== undefined && <Bell projectId={current.project.id} />}
        <AccountMenu />
      </div>
    </header>
  )
}

function Switcher({ current }: { current: Current }) {
  const navigate = useNavigate()
  const byOrganisation = Map.groupBy(current.all, ({ organisation }) => organisation.name)
  return (
    <select
      aria-label="Project"
      value={current.project.id}
      onChange={(event) =>
        void navigate({ to: '/p/$projectId', params: { projectId: event.target.value } })
      }
    >
      {[...byOrganisation].map(([name, reached]) => (
        <optgroup key={name} label={name}>
          {reached.map(({ project }) => (
            <option key={project.id} value={project.id}>
              {project.name}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  )
}
