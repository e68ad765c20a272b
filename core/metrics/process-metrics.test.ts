import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

import { collectProcessMetrics } from './process-metrics.ts'

test('a process shows its CPU and memory, and no quantile that a sampler would have to wake it for', async () => {
  const registry = new Registry()
  collectProcessMetrics(registry)
  const text = await registry.metrics()
  expect(text).toContain('process_cpu_seconds_total')
  expect(text).toContain('nodejs_eventloop_lag_seconds')
  expect(text).not.toMatch(/nodejs_eventloop_lag_(min|max|mean|stddev|p\d+)_seconds/)
})
