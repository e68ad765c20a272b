import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { SelectField, TextField } from '../../../parts/forms/fields.tsx'
import { RetryRuler } from './retry-ruler.tsx'
import { attemptTimes, spanOfSeconds } from './words.ts'

type Policy = Schemas['RetryPolicy']

const STRATEGIES = [
  ['schedule', 'By a schedule'],
  ['exponential', 'Each delay twice the one before'],
  ['linear', 'Each delay longer by the first'],
] as const

export function RetryFields({
  policy,
  onChange,
  fault,
}: {
  policy: Policy
  onChange: (policy: Policy) => void
  fault: (member: string) => string | undefined
}) {
  const change = (changes: Partial<Policy>) => onChange({ ...policy, ...changes })
  const times = attemptTimes(policy)
  return (
    <>
      <SelectField
        label="Delays"
        value={policy.strategy}
        onChange={(strategy) => onChange(startOf(strategy, policy.maxAttempts))}
        options={STRATEGIES}
      />
      {policy.strategy === 'schedule' ? (
        <ScheduleField
          seconds={policy.scheduleSeconds ?? []}
          onChange={(scheduleSeconds) =>
            change({ scheduleSeconds, maxAttempts: scheduleSeconds.length + 1 })
          }
          fault={fault('scheduleSeconds')}
        />
      ) : (
        <div className="side-by-side">
          <TextField
            label="First delay, in seconds"
            type="number"
            value={String(policy.initialDelaySeconds ?? '')}
            onChange={(text) => change({ initialDelaySeconds: Number(text) })}
            fault={fault('initialDelaySeconds')}
          />
          <TextField
            label="Longest delay, in seconds"
            type="number"
            value={String(policy.maxDelaySeconds ?? '')}
            onChange={(text) => change({ maxDelaySeconds: Number(text) })}
            fault={fault('maxDelaySeconds')}
          />
          <TextField
            label="Attempts"
            type="number"
            value={String(policy.maxAttempts)}
            onChange={(text) => change({ maxAttempts: Number(text) })}
            fault={fault('maxAttempts')}
          />
        </div>
      )}
      <RetryRuler seconds={times} />
      <p className="muted">
        An event that comes now is attempted {times.map(spanOfSeconds).join(', ')} after its
        receipt.
      </p>
    </>
  )
}

/** Keeps the text as it is typed: made anew from the seconds at every key, it would never hold a comma at its end. */
function ScheduleField({
  seconds,
  onChange,
  fault,
}: {
  seconds: readonly number[]
  onChange: (seconds: number[]) => void
  fault: string | undefined
}) {
  const [text, setText] = useState(() => seconds.join(', '))
  return (
    <TextField
      label="Seconds before each retry"
      hint="Separated by commas."
      isMono
      pattern="[\d\s,]*"
      title="Whole numbers"
      value={text}
      onChange={(written) => {
        setText(written)
        onChange(secondsOf(written))
      }}
      fault={fault}
    />
  )
}

function startOf(strategy: Policy['strategy'], maxAttempts: number): Policy {
  return strategy === 'schedule'
    ? { strategy, scheduleSeconds: [5, 300, 1800, 7200, 18_000, 36_000, 36_000], maxAttempts: 8 }
    : { strategy, initialDelaySeconds: 10, maxDelaySeconds: 36_000, maxAttempts }
}

function secondsOf(text: string): number[] {
  return text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map(Number)
    .filter((seconds) => Number.isFinite(seconds))
}
