import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { OWNERS_ONLY, useProject } from '../../session/project.tsx'
import { Confirm } from '../dialog.tsx'
import { Failed, Skeleton } from '../states.tsx'
import { counted, whole } from '../words/numbers.ts'
import { KINDS, type Kind } from './kinds.ts'
import { PlanFacts } from './plan-facts.tsx'
import { Scope } from './scope.tsx'

/** Above this many the count must be typed. */
const TYPED_ABOVE = 1000

type Filter = Schemas['OperationFilter']

/** The filter of the list is the scope of the work. */
export function BulkButton({ kind, filter }: { kind: Kind; filter: Filter }) {
  const { mayAll } = useProject()
  const [isOpen, setOpen] = useState(false)
  const { verb } = KINDS[kind]
  const isEmpty = Object.keys(filter).length === 0
  const mayNot = kind === 'cancel' && !mayAll
  const why = mayNot
    ? OWNERS_ONLY
    : isEmpty
      ? 'Choose a filter first: it is the scope of the work'
      : undefined
  return (
    <>
      <button
        type="button"
        className="button"
        aria-disabled={why !== undefined}
        title={why}
        onClick={() => why === undefined && setOpen(true)}
      >
        {verb} matching…
      </button>
      {isOpen && <Plan kind={kind} filter={filter} onClose={() => setOpen(false)} />}
    </>
  )
}

/** The filter of a list, as the request of an operation. */
function operationOf(kind: Kind, filter: Filter): Schemas['OperationCreate'] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each list has the filter of its own kind
  return { kind, filter } as Schemas['OperationCreate']
}

function Plan({ kind, filter, onClose }: { kind: Kind; filter: Filter; onClose: () => void }) {
  const { api, projectId } = useProject()
  const navigate = useNavigate()
  const client = useQueryClient()
  // Up to now: what arrives while the reader thinks is not meant.
  const [scope] = useState(() => ({ ...filter, to: filter.to ?? new Date().toISOString() }))
  const body = operationOf(kind, scope)
  const plan = useQuery({
    queryKey: [projectId, 'plan', kind, scope],
    queryFn: () => api.planOperation({ body }),
    gcTime: 0,
  })
  const { verb, noun, nouns } = KINDS[kind]
  const run = async () => {
    const { id } = await api.createOperation({ body })
    void client.invalidateQueries({ queryKey: [projectId, 'operations'] })
    await navigate({
      to: '/p/$projectId/operations/$operationId',
      params: { projectId, operationId: id },
    })
  }
  const matched = plan.data?.matched ?? 0
  const things = `${plan.data?.truncated === true ? 'more than ' : ''}${counted(matched, noun, nouns)}`
  return (
    <Confirm
      title={`${verb} what matches`}
      action={plan.data === undefined ? 'Counting…' : `${verb} ${things}`}
      typed={matched > TYPED_ABOVE ? whole(matched) : undefined}
      isReady={matched > 0}
      isDanger={kind === 'cancel'}
      onClose={onClose}
      run={run}
    >
      {plan.isPending && <Skeleton rows={1} />}
      {plan.isError && (
        <Failed error={plan.error} noun="The plan" again={() => void plan.refetch()} />
      )}
      {plan.data !== undefined && (
        <>
          <p>
            {things} {matched === 1 ? 'matches' : 'match'} now. The work goes on when you leave, and
            can be stopped on its page.
          </p>
          <PlanFacts plan={plan.data} />
        </>
      )}
      <Scope filter={scope} />
    </Confirm>
  )
}
