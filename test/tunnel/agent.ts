import { setTimeout as sleep } from 'node:timers/promises'

import { dial, type Dialled } from '../../connector-agent/tunnel/dial.ts'
import { AgentStreams, type Perform } from '../../connector-agent/tunnel/streams.ts'
import { openLink, type Link, type LinkEnd } from '../../core/tunnel/link.ts'
import { TUNNEL_PATH, type Settings } from '../../core/tunnel/protocol.ts'

const PHASES = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 1, totalMs: 1 }

/** An agent of tests: one session, which does what it is told with each request. */
export interface TestAgent extends Disposable {
  /** The gateway's refusal, when there is no session. */
  refused: Extract<Dialled, { kind: 'refused' }> | undefined
  gateway: string
  link: Link | undefined
  streams: AgentStreams | undefined
  /** Settings frames of the gateway so far, oldest first. */
  settings: Settings[]
  isParting: boolean
  /** How the session ended. */
  ended: Promise<LinkEnd>
}

/** Reads the body and answers with a status and a text. */
export function answers(status: number, text = ''): Perform {
  return async (_head, body) => {
    for await (const part of body) void part
    return {
      kind: 'response',
      head: { status, headers: [['content-type', 'text/plain']], phases: PHASES },
      body: Buffer.from(text),
    }
  }
}

/** Dials a gateway once. */
export async function startAgent(
  gatewayUrl: string,
  token: string,
  perform: Perform = answers(200),
  gateways: readonly string[] = [],
): Promise<TestAgent> {
  const ended = Promise.withResolvers<LinkEnd>()
  const agent: TestAgent = {
    refused: undefined,
    gateway: '',
    link: undefined,
    streams: undefined,
    settings: [],
    isParting: false,
    ended: ended.promise,
    [Symbol.dispose]: () => agent.link?.cut(),
  }
  const dialled = await dial({ url: `${gatewayUrl}${TUNNEL_PATH}`, token, gateways }, (wire) => {
    const streams = new AgentStreams({
      write: (frame) => agent.link?.write(frame),
      perform,
      streamsMax: 64,
    })
    agent.streams = streams
    agent.link = openLink(wire, {
      frame(frame) {
        if (frame.kind === 'settings') agent.settings.push(frame.settings)
        if (frame.kind === 'going_away') agent.isParting = true
        streams.receive(frame)
      },
      closed(end) {
        streams.end()
        ended.resolve(end)
      },
    })
    agent.link.write({ kind: 'settings', settings: { name: 'test', streamsMax: 64 } })
  })
  if (dialled.kind === 'failed') throw dialled.error
  if (dialled.kind === 'refused') agent.refused = dialled
  else agent.gateway = dialled.gateway
  return agent
}

/** How the session ends, or `open` when it does not within `ms`. */
export async function endWithin(agent: TestAgent, ms: number): Promise<LinkEnd | 'open'> {
  return await Promise.race([agent.ended, sleep(ms, 'open' as const)])
}
