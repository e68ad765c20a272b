import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { Dialog } from '../parts/dialog.tsx'
import type { Current } from './current.ts'

import './palette.css'

interface Entry {
  name: string
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
] as const

const ID = /^(evt|dlv|src|dst|con|cnr|opr|prj)_[0-7][0-9a-hjkmnp-tv-z]{25}$/

export function Palette({
  current,
  onClose,
}: {
  current: Current | undefined
  onClose: () => void
}) {
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
        placeholder="events, keys, evt_…"
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
            key={entry.name}
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

function useEntries(current: Current | undefined, text: string): Entry[] {
  const navigate = useNavigate()
  if (current === undefined) return []
  const projectId = current.project.id
  const organisationId = current.organisation.id
  const kind = ID.exec(text)?.[1]
  if (kind !== undefined) return [{ name: `Open ${text}`, go: () => openId(kind) }]
  const matches = (name: string) => name.toLowerCase().includes(text.toLowerCase())
  return [
    ...PAGES.map(([name, to]) => ({ name, go: () => navigate({ to, params: { projectId } }) })),
    ...ORGANISATION.map(([name, to]) => ({
      name,
      go: () => navigate({ to, params: { organisationId } }),
    })),
    { name: 'Your account', go: () => navigate({ to: '/me' }) },
    ...current.all
      .filter(({ project }) => project.id !== projectId)
      .map(({ project }) => ({
        name: `Project ${project.name}`,
        go: () => navigate({ to: '/p/$projectId', params: { projectId: project.id } }),
      })),
  ].filter(({ name }) => matches(name))

  function openId(of: string): unknown {
    const params = { projectId }
    switch (of) {
      case 'evt':
        return navigate({ to: '/e/$eventId', params: { eventId: text } })
      case 'dlv':
        return navigate({ to: '/d/$deliveryId', params: { deliveryId: text } })
      case 'src':
        return navigate({
          to: '/p/$projectId/sources/$sourceId',
          params: { ...params, sourceId: text },
        })
      case 'dst':
        return navigate({
          to: '/p/$projectId/destinations/$destinationId',
          params: { ...params, destinationId: text },
        })
      case 'con':
        return navigate({
          to: '/p/$projectId/connections/$connectionId',
          params: { ...params, connectionId: text },
        })
      case 'cnr':
        return navigate({
          to: '/p/$projectId/connectors/$connectorId',
          params: { ...params, connectorId: text },
        })
      case 'opr':
        return navigate({
          to: '/p/$projectId/operations/$operationId',
          params: { ...params, operationId: text },
        })
      default:
        return navigate({ to: '/p/$projectId', params: { projectId: text } })
    }
  }
}
