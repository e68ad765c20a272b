import type { Registry } from 'prom-client'

import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { countsOf } from '../metrics/instruments.ts'
import type { TraceSettings } from '../settings/trace-settings.ts'
import { exportSettings } from './export-settings.ts'
import type { SpanOutcome } from './otlp.ts'
import { samplerOf } from './sampling.ts'
import { Tracing } from './tracing.ts'
import { readVersion } from './version.ts'

interface TracingOptions {
  settings: TraceSettings & { INSTANCE_NAME: string }
  role: string
  clock: Clock
  log: Logger
  registry: Registry
}

const OUTCOMES: readonly SpanOutcome[] = ['exported', 'failed', 'dropped']

/** Undefined while traces are off: then not even the packages are loaded. */
export async function openTracing({
  settings,
  role,
  clock,
  log,
  registry,
}: TracingOptions): Promise<Tracing | undefined> {
  const counts = countsOf(registry, {
    name: 'postern_trace_spans_total',
    help: 'Spans by what became of them; none while traces are off',
    label: 'outcome',
    values: OUTCOMES,
  })
  const sender = { role, instance: settings.INSTANCE_NAME, version: readVersion() }
  const sending = exportSettings(settings, sender)
  if (sending === undefined) return undefined
  const { openOtlp } = await import('./otlp.ts')
  log.info({ url: sending.url }, 'Sends traces')
  const { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: ratio } = settings
  return new Tracing(openOtlp({ settings: sending, log, counts }), {
    samples: samplerOf(OTEL_TRACES_SAMPLER, ratio),
    clock,
  })
}
