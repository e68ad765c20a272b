import { once } from 'node:events'

import { pino } from 'pino'
import { expect, test } from 'vitest'

import { encodeFrame } from '../../core/tunnel/frames.ts'
import { FRAME_BYTES_MAX } from '../../core/tunnel/protocol.ts'
import { buildTunnelServer } from '../../dataplane/gateway/dial/server.ts'
import { says, startEndpoint } from '../kit/endpoint.ts'
import { eventually, LONG, openGateway, openRelay, startAgent } from './agent-world.ts'

const HEAD = {
  attemptId: 'a',
  method: 'POST',
  url: 'http://localhost/',
  headers: [],
  bodyBytes: 1,
  timeoutMs: 5_000,
}
const REQUEST = encodeFrame({ kind: 'request', stream: 1, head: HEAD })

/** Each dial gets the next of these, and the agent ends the session with the code behind it. */
const ATTACKS: readonly [title: string, frames: readonly (Buffer | string)[], code: number][] = [
  ['a frame past the limit', [Buffer.alloc(FRAME_BYTES_MAX + 1, 4)], 1009],
  ['a frame of an unknown kind', [Buffer.from([99, 0, 0, 0, 1])], 1002],
  ['a stream that is opened twice', [REQUEST, REQUEST], 1002],
  ['text', ['{}'], 1002],
]

/** A gateway that lets everybody in and then breaks the protocol. */
async function openHostileGateway() {
  const closes: number[] = []
  let dials = 0
  const server = buildTunnelServer<undefined>({
    log: pino({ level: 'silent' }),
    gatewayName: 'hostile',
    remoteIpOf: () => '127.0.0.1',
    admit: () => Promise.resolve({ kind: 'admitted', owner: undefined }),
    opened({ socket }) {
      const [, frames] = ATTACKS[dials++] ?? ['', []]
      socket.on('error', () => {})
      socket.on('close', (code) => closes.push(code))
      for (const frame of frames) socket.send(frame)
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `ws://127.0.0.1:${port}`,
    closes,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test(
  'whatever a hostile gateway sends, its own session ends, once said, and the other goes on',
  LONG,
  async () => {
    await using honest = await openGateway('honest')
    // It says that there is another gateway, so that the agent looks for it soon.
    const { admit } = honest
    honest.admit = async (dialled) => {
      const admission = await admit(dialled)
      return admission.kind === 'refused' ? { ...admission, data: { gateways: 2 } } : admission
    }
    await using hostile = await openHostileGateway()
    await using relay = await openRelay(honest.url)
    await using service = await startEndpoint(says(200))
    const { origin } = new URL(service.url)
    await using agent = startAgent(['--relay', relay.url, '--allow', origin, '--allow-loopback'])
    await agent.said('Connected to gateway honest')
    const answer = { heartbeatIntervalSeconds: 1, allowedHosts: [], isDisabled: false }
    relay.heartbeat = () => ({ status: 200, body: { ...answer, gatewayUrl: hostile.url } })
    await eventually(
      'each attack is answered',
      () => hostile.closes.length >= ATTACKS.length,
      120_000,
    )
    expect(hostile.closes.slice(0, ATTACKS.length)).toEqual(ATTACKS.map(([, , code]) => code))
    const ended = (name: string): number =>
      agent.lines.filter((line) => line.includes(`session to gateway ${name} ended`)).length
    await eventually('each end is said', () => ended('hostile') >= ATTACKS.length)
    expect(ended('hostile')).toBe(hostile.closes.length)
    expect(ended('honest')).toBe(0)
    expect(await honest.send({ url: service.url })).toMatchObject({ kind: 'response' })
  },
)
