import { Link, useSearch } from '@tanstack/react-router'

import { PageTitle } from '../../parts/words/page-title.tsx'
import { useProject } from '../../session/project.tsx'
import { ChooseProvider } from './choose-provider.tsx'
import { Deliver } from './deliver.tsx'
import { Delivered } from './delivered.tsx'
import { Wait } from './wait.tsx'

import './start.css'

const STEPS = ['Choose a provider', 'Receive a webhook', 'Choose where it goes', 'See it delivered']

/** From nothing to a delivered webhook. The address says which step it is. */
export function Start() {
  const { source, event, destination } = useSearch({ from: '/inside/p/$projectId/start' })
  const { projectId } = useProject()
  const step =
    destination !== undefined ? 3 : event !== undefined ? 2 : source !== undefined ? 1 : 0
  return (
    <>
      <header>
        <PageTitle>Your first webhook</PageTitle>
        <div className="buttons">
          <Link to="/p/$projectId/events" params={{ projectId }} className="button quiet">
            Skip this
          </Link>
        </div>
      </header>
      <ol className="steps">
        {STEPS.map((name, index) => (
          <li
            key={name}
            aria-current={index === step ? 'step' : undefined}
            className={index < step ? 'done' : undefined}
          >
            {name}
          </li>
        ))}
      </ol>
      {source === undefined && <ChooseProvider />}
      {source !== undefined && event === undefined && <Wait sourceId={source} />}
      {source !== undefined && event !== undefined && destination === undefined && (
        <Deliver sourceId={source} eventId={event} />
      )}
      {source !== undefined && event !== undefined && destination !== undefined && (
        <Delivered eventId={event} destinationId={destination} />
      )}
    </>
  )
}
