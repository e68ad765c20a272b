import { Counter, Gauge, Registry } from 'prom-client'

import { collectProcessMetrics } from './process-metrics.ts'

/** The metrics of a process: those of Node itself, to which its parts add their own. */
export function openRegistry(): Registry {
  const registry = new Registry()
  collectProcessMetrics(registry)
  return registry
}

/** Reads a value, or the value of each label, when somebody scrapes. Undefined: there is none at this time. */
type Read<T> = () => T | undefined | Promise<T | undefined>

interface Described {
  name: string
  help: string
}

export function gaugeOf(registry: Registry, { name, help }: Described, read: Read<number>): void {
  const gauge = new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await read()
      if (value === undefined) this.remove()
      else this.set(value)
    },
  })
  gauge.remove()
}

/** A gauge with one label. */
export function gaugesOf(
  registry: Registry,
  { name, help, label }: Described & { label: string },
  read: Read<Readonly<Record<string, number>>>,
): void {
  // The registry keeps it.
  void new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    async collect() {
      const values = await read()
      this.reset()
      for (const [text, value] of Object.entries(values ?? {})) this.set({ [label]: text }, value)
    },
  })
}

/** A counter of what its part counts anyway. */
export function counterOf(registry: Registry, { name, help }: Described, read: () => number): void {
  void new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

/**
 * A counter with one label, for what happens thousands of times a second: counting is an addition to a member, and labels
 * are made when somebody scrapes.
 */
export function countsOf<Value extends string>(
  registry: Registry,
  { name, help, label, values }: Described & { label: string; values: readonly Value[] },
): Record<Value, number> {
  const counts = zeros(values)
  void new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      for (const value of values) this.inc({ [label]: value }, counts[value])
    },
  })
  return counts
}

export function zeros<Value extends string>(values: readonly Value[]): Record<Value, number> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has a member for each value
  return Object.fromEntries(values.map((value) => [value, 0])) as Record<Value, number>
}
