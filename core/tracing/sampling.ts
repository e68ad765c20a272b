import type { TraceSettings } from '../settings/trace-settings.ts'
import type { SpanName } from './trace-context.ts'

/** Whether a trace is recorded. `parent` is the span of somebody else under which it begins. */
export type Sampler = (traceId: string, parent: SpanName | undefined) => boolean

const BASED_ON_PARENT = 'parentbased_'

/** Every process decides alike: by the parent, or by the id of the trace, which all of them know. */
export function samplerOf(name: TraceSettings['OTEL_TRACES_SAMPLER'], ratio: number): Sampler {
  const own = ownSampler(name.replace(BASED_ON_PARENT, ''), ratio)
  if (!name.startsWith(BASED_ON_PARENT)) return own
  return (traceId, parent) => parent?.isSampled ?? own(traceId, undefined)
}

function ownSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return () => false
  if (name === 'always_on') return () => true
  const from = (1 - ratio) * RANDOM_VALUES
  return (traceId) => Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= from
}

/** The end of the id is random in a UUIDv7, and in the ids of others as the standard asks. */
const RANDOM_DIGITS = 13
const RANDOM_VALUES = 16 ** RANDOM_DIGITS
