import { collectDefaultMetrics, type Registry } from 'prom-client'

/** As good as never. */
const HOUR_MS = 3_600_000

const OF_THE_SAMPLER = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (name) => `nodejs_eventloop_lag_${name}_seconds`,
)

/** Gauges that are named as counters; the same figures are there by type. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

/**
 * The metrics of a Node process that prom-client knows, save the quantiles of the loop's delay: their sampler wakes an idle
 * process a hundred times a second, a third of a percent of a core. `watchLoop` counts the stalls.
 */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: HOUR_MS })
  for (const name of [...OF_THE_SAMPLER, ...MISNAMED]) registry.removeSingleMetric(name)
}
