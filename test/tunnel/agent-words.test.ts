import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { selfSigned } from '../../core/verify/self-signed.fixture.ts'
import { startEndpoint } from '../kit/endpoint.ts'
import { eventually, LONG, openGateway, openRelay, refusal, startAgent } from './agent-world.ts'

const SECRET = 'very-secret-key'

/** Arguments as a shell splits them; a plus stands for a blank. */
function argumentsOf(line: string): string[] {
  return line.split(/\s+/).map((word) => word.replaceAll('+', ' '))
}

test(
  'every fault of the settings is named at once, with code 1, no stack and no secret',
  LONG,
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'agent-'))
    writeFileSync(join(dir, 'rules.json'), '[{"hosts":["a"],"ports":[70000]}, "b.internal"]')
    writeFileSync(join(dir, 'no-ca.pem'), 'no certificate')
    await using agent = startAgent(
      argumentsOf(`--relay ftp://relay --allow not+a+host --ops-prt 1 --enrollment-key ${SECRET}
      --allow-file ${join(dir, 'rules.json')} --ca-file ${join(dir, 'no-ca.pem')}
      --destination-ca-file ${join(dir, 'absent.pem')} --client-cert-file ${join(dir, 'no-ca.pem')}
      --log-level loud --proxy http://user:${SECRET}@proxy:1 stray`),
      { key: null, env: { POSTERN_ENROLLMENT_KEY: `${SECRET}\n${SECRET}` } },
    )
    expect(await agent.ended).toBe(1)
    const text = agent.lines.join('\n')
    const faults = [
      '--relay (POSTERN_URL) "ftp://relay/": must be an origin such as',
      'Cannot read host "not a host"',
      'Cannot read the rule {"hosts":["a"],"ports":[70000]}',
      '--ops-prt is no flag',
      '--enrollment-key: a secret does not belong in the arguments',
      'RELAY_CA',
      'must be one or more PEM certificates',
      'there is no such file',
      'CLIENT_CERT and CLIENT_KEY go together',
      '"loud": must be one of',
      '--proxy: a password does not belong in the arguments',
      'An argument without a name is not understood',
      'must be the one line that the relay showed',
    ]
    for (const fault of faults) expect(text).toContain(fault)
    expect(text).not.toContain(SECRET)
    expect(agent.lines.filter((line) => line.includes('without a name'))).toHaveLength(1)
    expect(text).not.toMatch(/^\s+at /m)
  },
)

test('without any setting the agent says what it needs', LONG, async () => {
  await using agent = startAgent([], { key: null })
  expect(await agent.ended).toBe(1)
  const text = agent.lines.join('\n')
  expect(text).toContain('--relay (POSTERN_URL): is missing')
  expect(text).toContain('POSTERN_ALLOW: nothing may be reached')
})

test.each(['http://user:100%sure@127.0.0.1:9', 'http://us%er@127.0.0.1:9', 'socks5://127.0.0.1'])(
  'the proxy %s is refused before anything is tried',
  LONG,
  async (proxy) => {
    const args = argumentsOf('--relay http://127.0.0.1:1 --allow a.internal')
    await using agent = startAgent(args, { env: { POSTERN_PROXY: proxy } })
    expect(await agent.ended).toBe(1)
    const text = agent.lines.join('\n')
    expect(text).toMatch(/POSTERN_PROXY\).*(?:write it as %25|must begin with http:\/\/)/)
    expect(text).not.toContain('sure')
  },
)

test('--help says what there is', LONG, async () => {
  await using agent = startAgent(['--help'], { key: null })
  expect(await agent.ended).toBe(0)
  expect(agent.lines.join('\n')).toContain('--enrollment-key-file FILE')
})

/** A certificate of its own authority for `localhost`, valid between these years. */
function makeCertificate(from: number, to: number): { key: string; cert: string; file: string } {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const cert = selfSigned(pair, Date.UTC(from, 0), Date.UTC(to, 0), 'localhost')
  const file = join(mkdtempSync(join(tmpdir(), 'agent-tls-')), 'cert.pem')
  writeFileSync(file, cert)
  return { key: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }), cert, file }
}

test(
  'a line says what is wrong with key, address, name or limit',
  { timeout: 180_000 },
  async () => {
    await using gateway = await openGateway()
    await using relay = await openRelay(gateway.url)
    await using web = await startEndpoint()
    await using moved = await startEndpoint((response) => {
      response.writeHead(301, { location: 'https://elsewhere.example/' }).end()
    })
    const closed = createTcpServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const address = closed.address()
    const closedPort = typeof address === 'object' ? address?.port : 0
    closed.close()
    relay.bootstrap = (token) => {
      if (token === 'full') return refusal(403, 'REPLICA_LIMIT_REACHED')
      return token === 'same' ? refusal(409, 'CONFLICT') : refusal(401, 'UNAUTHORIZED')
    }
    const cases: [url: string, key: string, words: string][] = [
      [relay.url, 'wrong', 'does not know the enrolment key'],
      [relay.url, 'full', 'as many replicas as its plan allows'],
      [relay.url, 'same', 'give this one its own with --name'],
      [
        new URL(web.url).origin,
        'k',
        'is no API of a Postern relay (it answers 200): check --relay',
      ],
      [new URL(moved.url).origin, 'k', 'sends its callers on to https://elsewhere.example/'],
      [`http://127.0.0.1:${closedPort}`, 'k', 'nothing listens at'],
      ['http://no-such-name.invalid', 'k', 'the name no-such-name.invalid'],
      [`https://127.0.0.1:${new URL(relay.url).port}`, 'k', 'does not speak TLS'],
    ]
    for (const [url, key, words] of cases) {
      await using agent = startAgent(['--relay', url, '--allow', 'a.internal'], { key })
      const line = await agent.said(words)
      expect(JSON.parse(line)).toMatchObject({ level: 'warn' })
      const saying = agent.lines.filter((one) => one.includes(words))
      expect(saying).toHaveLength(1)
      expect(agent.lines.join('\n')).not.toMatch(/^\s+at /m)
      expect(agent.child.exitCode).toBeNull()
      expect(await (await fetch(`${await agent.opsUrl()}/readyz`)).text()).toContain(words)
    }
  },
)

test(
  'a line says what is wrong with a certificate or the clock; --ca-file mends it',
  { timeout: 180_000 },
  async () => {
    await using gateway = await openGateway()
    const good = makeCertificate(2020, 2049)
    const old = makeCertificate(2020, 2021)
    const early = makeCertificate(2048, 2049)
    const serve = async ({ key, cert }: { key: string; cert: string }) =>
      await openRelay(gateway.url, createHttpsServer({ key, cert }))
    await using goodRelay = await serve(good)
    await using oldRelay = await serve(old)
    await using earlyRelay = await serve(early)
    const named = ({ url }: { url: string }): string => url.replace('127.0.0.1', 'localhost')
    const cases: [url: string, args: string[], words: string][] = [
      [named(goodRelay), [], 'does not trust. Give the authority'],
      [named(oldRelay), ['--ca-file', old.file], 'past its end by this machine'],
      [named(earlyRelay), ['--ca-file', early.file], 'not valid yet by this machine'],
      [goodRelay.url, ['--ca-file', good.file], 'is for another name'],
      [named(goodRelay), ['--ca-file', good.file], 'Connected to gateway'],
    ]
    for (const [url, args, words] of cases) {
      await using agent = startAgent(['--relay', url, '--allow', 'a.internal', ...args])
      expect(await agent.said(words)).toContain(words)
    }
    const usual = goodRelay.bootstrap
    const date = new Date(Date.now() + 3 * 3_600_000).toUTCString()
    goodRelay.bootstrap = (token) => ({ ...usual(token), headers: { date } })
    await using agent = startAgent(
      argumentsOf(`--relay ${named(goodRelay)} --allow a.internal --ca-file ${good.file}`),
    )
    await agent.said("clock is 180 minutes behind the relay's: set it right")
  },
)

test(
  'a gateway that is none, or cannot be reached, is told from a relay that cannot',
  LONG,
  async () => {
    await using web = await startEndpoint()
    await using relay = await openRelay(new URL(web.url).origin.replace('http', 'ws'))
    await using agent = startAgent(['--relay', relay.url, '--allow', 'a.internal'])
    await agent.said('is no gateway of a Postern relay')
    await using other = await openRelay('not an address')
    await using lost = startAgent(['--relay', other.url, '--allow', 'a.internal'])
    expect(await lost.said('which is no address')).toContain('as its gateway')
  },
)

test(
  'through a CONNECT proxy relay and gateway are reached, and destinations are not',
  LONG,
  async () => {
    await using gateway = await openGateway()
    await using relay = await openRelay(gateway.url)
    await using service = await startEndpoint()
    const asked: string[] = []
    const proxy = createTcpServer((client) => {
      client.once('data', (head) => {
        const text = head.toString()
        const target = /^CONNECT (\S+)/.exec(text)?.[1] ?? ''
        asked.push(target)
        if (!text.includes(`proxy-authorization: Basic ${btoa('me:p@ss')}`)) {
          return void client.end('HTTP/1.1 407 Who are you\r\n\r\n')
        }
        const { hostname, port } = new URL(`http://${target}`)
        const server = connect(Number(port), hostname, () => {
          client.write('HTTP/1.1 200 OK\r\n\r\n')
          client.pipe(server).pipe(client)
        })
        server.on('error', () => client.destroy())
      })
      client.on('error', () => undefined)
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const address = proxy.address()
    const at = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const args = ['--relay', relay.url, '--allow', new URL(service.url).origin, '--allow-loopback']
    {
      await using agent = startAgent(args, { env: { POSTERN_PROXY: `http://me:p%40ss@${at}` } })
      await agent.said('Connected to gateway')
      expect(asked).toEqual(
        expect.arrayContaining([new URL(relay.url).host, new URL(gateway.url).host]),
      )
      expect(await gateway.send({ url: service.url })).toMatchObject({ head: { status: 200 } })
      expect(asked).not.toContain(new URL(service.url).host)
    }
    asked.length = 0
    await eventually('the session is over', () => gateway.sessions.length === 0)
    {
      const env = { POSTERN_PROXY: `http://${at}`, no_proxy: '127.0.0.0/8' }
      await using agent = startAgent(args, { env })
      await agent.said('Connected to gateway')
      const silent = {
        HTTP_PROXY: `http://${at}`,
        HTTPS_PROXY: `http://${at}`,
        http_proxy: `http://${at}`,
      }
      await eventually('the relay was asked', () => relay.calls.length > 1)
      expect(asked).toEqual([])
      await using other = startAgent(args, { env: silent })
      await other.said('Enrolled as')
      expect(await gateway.send({ url: service.url })).toMatchObject({ head: { status: 200 } })
      expect(asked).toEqual([])
    }
    {
      await using agent = startAgent(args, { env: { POSTERN_PROXY: `http://${at}` } })
      await agent.said('wants a user and a password (407)')
    }
    proxy.close()
  },
)
