import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { TextField } from '../../parts/forms/fields.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Command } from '../../parts/words/copy.tsx'
import { useProject } from '../../session/project.tsx'
import { keepEnrolment, useEnrolment } from './enrolment.ts'
import { commandOf, needsKey, NOTES, WAYS, type Way } from './ways.ts'

/** The command that makes a replica, complete while the enrolment key is known. */
export function Install({ connector }: { connector: Schemas['Connector'] }) {
  const { api, projectId } = useProject()
  const key = useEnrolment(connector.id)
  const [way, setWay] = useState<Way>('Node')
  const [allow, setAllow] = useState('http://localhost:3000')
  const regenerate = async () => {
    const { enrollmentKey } = await api.regenerateEnrollment({ id: connector.id })
    keepEnrolment(connector.id, enrollmentKey)
  }
  return (
    <section className="section">
      <header>
        <h2>{key === undefined ? 'Start a replica' : 'Start it'}</h2>
        <div className="buttons">
          <DangerAction
            name="New enrolment key…"
            title="Replace the enrolment key?"
            action="Replace it"
            run={regenerate}
          >
            <p>The key before is good no more. Replicas that have enrolled go on.</p>
          </DangerAction>
        </div>
      </header>
      <Tabs label="Ways to start it" tabs={WAYS} shown={way} show={setWay}>
        {key === undefined && needsKey(way) ? (
          <p className="muted">
            The command needs the enrolment key, which is shown once. With a new key the whole
            command stands here, ready to copy.
          </p>
        ) : (
          <>
            <TextField
              label="It may reach"
              hint="A URL or a host of the network that it runs in."
              isMono
              value={allow}
              onChange={setAllow}
            />
            <Command
              text={commandOf(way, { relay: location.origin, key: key ?? '', allow, connector })}
            />
            <p className="muted">
              {NOTES[way]} {needsKey(way) && 'The key in it is shown this once.'} The replica shows
              below within seconds.
            </p>
          </>
        )}
      </Tabs>
      <p>
        Then give it a{' '}
        <Link
          to="/p/$projectId/destinations/new"
          params={{ projectId }}
          search={{ mode: 'private' }}
        >
          private destination
        </Link>
        .
      </p>
    </section>
  )
}
