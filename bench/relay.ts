import { startInstallation, type Installation } from './installation.ts'
import { openTrafficSink, runTraffic, type Run, type Sink, type Traffic } from './measure.ts'
import { pidOf } from './processes.ts'
import { Senders, type Target } from './traffic.ts'

const SECRET = 'bench-secret'

/** A running relay with one verified, deduplicating, filtered source and `fanOut` connections to the sink. */
export interface Relay extends AsyncDisposable {
  installation: Installation
  sink: Sink
  run(traffic: Pick<Traffic, 'seconds' | 'connections' | 'rate' | 'window'>): Promise<Run>
  /** Gets so many events accepted, whatever becomes of them. */
  fill(count: number): Promise<void>
  workerPid(): number
}

export interface RelayOptions {
  fanOut: number
  bodyBytes: number
}

/** Everything that an event can meet is on: verification, deduplication, an event-type and a body filter. */
export async function openRelay({ fanOut, bodyBytes }: RelayOptions): Promise<Relay> {
  const stack = new AsyncDisposableStack()
  const installation = stack.use(await startInstallation())
  const sink = stack.use(await openTrafficSink())
  const source = await installation.call('POST', '/v1/sources', {
    name: 'bench',
    verifier: { preset: 'github', secret: SECRET },
    eventTypeField: 'header.x-github-event',
    idempotencyKeys: ['header.x-github-delivery'],
    maxPayloadSizeKb: 5_120,
  })
  for (let n = 0; n < fanOut; n++) {
    const destination = await installation.call('POST', '/v1/destinations', {
      name: `bench ${n}`,
      url: sink.url,
      maxConcurrency: 64,
    })
    await installation.call('POST', '/v1/connections', {
      name: `bench ${n}`,
      sourceId: source['id'],
      destinationId: destination['id'],
      filter: { eventTypes: ['push'], body: { number: { $startsWith: '0' } } },
    })
  }
  const target: Target = { url: new URL(String(source['ingestUrl'])), secret: SECRET, bodyBytes }
  // Numbers start again with each run, and an earlier run's would be duplicates.
  let runs = 0
  return {
    installation,
    sink,
    run: (traffic) =>
      runTraffic(sink, {
        ...traffic,
        fanOut,
        target: { ...target, run: runs++ },
        supervisorPid: installation.supervisorPid,
      }),
    fill: (count) => fillWith({ ...target, run: runs++ }, count),
    workerPid: () => pidOf(installation.supervisorPid, 'worker'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

const FILL_CONNECTIONS = 128

async function fillWith(target: Target, count: number): Promise<void> {
  const senders = new Senders(target)
  await senders.open(FILL_CONNECTIONS)
  let sent = 0
  let accepted = 0
  await new Promise<void>((resolve) => {
    const next = (isAccepted: boolean): void => {
      if (isAccepted) accepted++
      if (accepted === count) resolve()
      else if (sent < count || !isAccepted) senders.send(sent++, next)
    }
    while (sent < FILL_CONNECTIONS) senders.send(sent++, next)
  })
  senders.close()
}
