import { startInstallation, type Installation } from './installation.ts'
import { openTrafficSink, runTraffic, type Run, type Sink, type Traffic } from './measure.ts'
import { pidOf } from './processes.ts'
import { addRoutes, type RouteOptions } from './routes.ts'
import { Senders, type Target } from './traffic.ts'

/** A running relay whose sources, each with connections of its own, lead to the sink. */
export interface Relay extends AsyncDisposable {
  installation: Installation
  sink: Sink
  run(
    traffic: Pick<Traffic, 'seconds' | 'connections' | 'rate' | 'window'> &
      Pick<Target, 'ports'> & {
        /** Another source than those that the relay was opened with. */
        target?: Target
      },
  ): Promise<Run>
  /** Gets so many events accepted, whatever becomes of them. */
  fill(count: number): Promise<void>
  workerPid(): number
}

export interface RelayOptions extends Omit<RouteOptions, 'urls'> {
  /** Where destinations are, in turn; the sink unless it says otherwise. */
  urls?: readonly string[]
  /** Addresses of the sink. */
  sinks?: number
  /** Added to the environment of the installation. */
  settings?: Record<string, string>
}

/** Enough for V8 to compile what an event meets, as it has in a process that is an hour old. */
export const WARM_UP = { seconds: 10, connections: 128, window: 256 }

export async function openRelay(options: RelayOptions): Promise<Relay> {
  await using stack = new AsyncDisposableStack()
  const installation = stack.use(await startInstallation(options.settings))
  const sink = stack.use(await openTrafficSink(options.sinks))
  const { target } = await addRoutes(installation, { ...options, urls: options.urls ?? sink.urls })
  // Numbers start again with each run, and an earlier run's would be duplicates.
  let runs = 0
  const owned = stack.move()
  return {
    installation,
    sink,
    run: ({ ports, target: other = target, ...traffic }) =>
      runTraffic(sink, {
        ...traffic,
        fanOut: options.fanOut,
        target: { ...other, run: runs++, ...(ports && { ports }) },
        supervisorPid: installation.supervisorPid,
        besides: [...installation.besides],
      }),
    fill: (count) => fill({ ...target, run: runs++ }, count),
    workerPid: () => pidOf(installation.supervisorPid, 'worker'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const FILL_CONNECTIONS = 128

/** Sends until so many events are accepted. Throws when as many were refused. */
export async function fill(target: Target, count: number): Promise<void> {
  const senders = new Senders(target)
  await senders.open(FILL_CONNECTIONS)
  let sent = 0
  let accepted = 0
  let refused = 0
  await new Promise<void>((resolve, reject) => {
    const next = (isAccepted: boolean): void => {
      if (isAccepted) accepted++
      else refused++
      if (accepted === count) resolve()
      else if (refused > count) reject(new Error(`${refused} refused, ${accepted} accepted`))
      else if (sent < count || !isAccepted) senders.send(sent++, next)
    }
    while (sent < Math.min(count, FILL_CONNECTIONS)) senders.send(sent++, next)
  })
  senders.close()
}
