import { useId } from 'react'

import { timeText } from '../../../parts/words/time.tsx'

/** A test may be made as if it were another time, to see whether only the clock is at fault. */
export function PretendNow({
  base,
  minutes,
  onChange,
  isStored,
}: {
  base: number
  minutes: number
  onChange: (minutes: number) => void
  isStored: boolean
}) {
  const id = useId()
  const shown = timeText(new Date(base + minutes * 60_000).toISOString())
  return (
    <div className="field">
      <label htmlFor={id}>
        Pretend that it is {shown}
        {minutes === 0
          ? isStored
            ? ' (when it was received)'
            : ' (now)'
          : ` (${minutes > 0 ? '+' : '−'}${Math.abs(minutes)} min)`}
      </label>
      <input
        id={id}
        type="range"
        min={-60}
        max={60}
        step={1}
        value={minutes}
        onChange={(event) => onChange(Number(event.target.value))}
      />
    </div>
  )
}
