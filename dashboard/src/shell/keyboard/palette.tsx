import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { Dialog } from '../../parts/dialog.tsx'
import { useNames } from '../../parts/names/names.ts'
import type { Current } from '../../session/current.ts'
import { ProjectScope } from '../../session/project.tsx'
import { signOut } from '../../session/session.ts'
import { setTheme, THEMES } from '../../session/theme.ts'
import { showHelp } from './overlays.ts'

import './palette.css'

interface Entry {
  name: string
  /** Where two may have the same name. */
  key?: string
  go: () => unknown
}

const PAGES = [
  ['Overview', '/p/$projectId'],
  ['Events', '/p/$projectId/events'],
  ['Deliveries', '/p/$projectId/deliveries'],
  ['Sources', '/p/$projectId/sources'],
  ['New source', '/p/$projectId/sources/new'],
  ['Destinations', '/p/$projectId/destinations'],
  ['New destination', '/p/$projectId/destinations/new'],
  ['Connections', '/p/$projectId/connections'],
  ['New connection', '/p/$projectId/connections/new'],
  ['Connectors', '/p/$projectId/connectors'],
  ['Operations', '/p/$projectId/operations'],
  ['Alerts', '/p/$projectId/alerts'],
  ['First webhook, step by step', '/p/$projectId/start'],
] as const
const ORGANISATION = [
  ['Projects', '/org/$organisationId/projects'],
  ['Members and invitations', '/org/$organisationId/members'],
  ['API keys', '/org/$organisationId/keys'],
  ['Agents', '/org/$organisationId/agents'],
  ['Plan and usage', '/org/$organisationId/plan'],
  ['Audit', '/org/$organisationId/audit'],
  ['Settings of the organisation', '/org/$organisationId/settings'],
] as const

/** More matches than these would be a list to read, not a choice. */
const SHOWN_MAX = 30

const ID = /^(evt|dlv|src|dst|con|cnr|opr|prj)_[0-7][0-9a-hjkmnp-tv-z]{25}$/

export function Palette({ current, onClose }: { current: Current; onClose: () => void }) {
  return (
    <ProjectScope project={current.project} organisation={current.organisation}>
      <Choice current={current} onClose={onClose} />
    </ProjectScope>
  )
}

function Choice({ current, onClose }: { current: Current; onClose: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const entries = useEntries(current, text.trim())
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return
    onClose()
    entry.go()
  }
  const onKey = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setChosen((chosen + step + entries.length) % Math.max(1, entries.length))
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      run(entries[chosen])
    }
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        aria-label="Page or id"
        placeholder="events, a name, evt_…"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette"
        {...(entries.length === 0 ? {} : { 'aria-activedescendant': `palette-${chosen}` })}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setChosen(0)
        }}
        onKeyDown={onKey}
      />
      <ul id="palette" className="palette" role="listbox" aria-label="Places">
        {entries.map((entry, index) => (
          <li
            key={entry.key ?? entry.name}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(entry)}
          >
            {entry.name}
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p className="muted">Nothing has this name.</p>}
    </Dialog>
  )
}

function useEntries(current: Current, text: string): Entry[] {
  const navigate = useNavigate()
  const { sources, destinations, connections } = useNames()
  const projectId = current.project.id
  const organisationId = current.organisation.id
  const kind = ID.exec(text)?.[1]
  if (kind !== undefined) return [{ name: `Open ${text}`, go: () => openId(kind, text) }]
  const matches = (name: string) => name.toLowerCase().includes(text.toLowerCase())
  return [
    ...PAGES.map(([name, to]) => ({ name, go: () => navigate({ to, params: { projectId } }) })),
    ...ORGANISATION.map(([name, to]) => ({
      name,
      go: () => navigate({ to, params: { organisationId } }),
    })),
    { name: 'Your account', go: () => navigate({ to: '/me' }) },
    { name: 'Keyboard', go: showHelp },
    ...THEMES.map(([theme, name]) => ({ name: `Theme: ${name}`, go: () => setTheme(theme) })),
    { name: 'Sign out', go: signOut },
    ...current.all
      .filter(({ project }) => project.id !== projectId)
      .map(({ project }) => ({
        name: `Project ${project.name}`,
        key: project.id,
        go: () => navigate({ to: '/p/$projectId', params: { projectId: project.id } }),
      })),
    // Only once something is typed: a project may have hundreds.
    ...(text === ''
      ? []
      : [
          ...named('Source', 'src', sources),
          ...named('Destination', 'dst', destinations),
          ...named('Connection', 'con', connections),
        ]),
  ]
    .filter(({ name }) => matches(name))
    .slice(0, SHOWN_MAX)

  function named(word: string, of: string, resources: readonly { id: string; name: string }[]) {
    return resources.map(({ id, name }) => ({
      name: `${word} ${name}`,
      key: id,
      go: () => openId(of, id),
    }))
  }

  function openId(of: string, id: string): unknown {
    const params = { projectId }
    switch (of) {
      case 'evt':
        return navigate({ to: '/e/$eventId', params: { eventId: id } })
      case 'dlv':
        return navigate({ to: '/d/$deliveryId', params: { deliveryId: id } })
      case 'src':
        return navigate({
          to: '/p/$projectId/sources/$sourceId',
          params: { ...params, sourceId: id },
        })
      case 'dst':
        return navigate({
          to: '/p/$projectId/destinations/$destinationId',
          params: { ...params, destinationId: id },
        })
      case 'con':
        return navigate({
          to: '/p/$projectId/connections/$connectionId',
          params: { ...params, connectionId: id },
        })
      case 'cnr':
        return navigate({
          to: '/p/$projectId/connectors/$connectorId',
          params: { ...params, connectorId: id },
        })
      case 'opr':
        return navigate({
          to: '/p/$projectId/operations/$operationId',
          params: { ...params, operationId: id },
        })
      default:
        return navigate({ to: '/p/$projectId', params: { projectId: id } })
    }
  }
}
