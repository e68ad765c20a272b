interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** The metrics that a role, or several, served. */
export interface Scrape {
  /** By their names, Node's own left out. */
  metrics: Map<string, { type: string; help: string }>
  samples: Sample[]
  /** The sum over all samples of a name that have these labels. */
  sum(name: string, labels?: Record<string, string>): number
}

const SAMPLE = /^([a-z0-9_:]+)(?:\{(.*)\})? (\S+)$/i
const LABEL = /([a-z0-9_]+)="((?:[^"\\]|\\.)*)"/g

/** Reads Prometheus' text format. Throws for a line that is none of it. */
export function parseScrape(text: string): Scrape {
  const helps = new Map<string, string>()
  const metrics: Scrape['metrics'] = new Map()
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const [, kind, described = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? []
    if (kind === 'HELP') helps.set(described, rest)
    else if (kind === 'TYPE') {
      if (described.startsWith('postern_'))
        metrics.set(described, { type: rest, help: helps.get(described) ?? '' })
    } else if (line.trim() !== '') samples.push(sampleOf(line))
  }
  return {
    metrics,
    samples,
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name && has(sample, labels))
        .reduce((total, { value }) => total + value, 0),
  }
}

function sampleOf(line: string): Sample {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined) throw new Error(`No line of a scrape: ${line}`)
  const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text])
  return { name, labels: Object.fromEntries(pairs), value: Number(value) }
}

function has({ labels }: Sample, wanted: Record<string, string>): boolean {
  return Object.entries(wanted).every(([label, value]) => labels[label] === value)
}
