/**
 * `helm test`: sends a webhook and sees it delivered, through a connector inside this pod where a gateway runs. Removes what
 * it made, but for the organisation that it makes when there is none.
 *
 * API_ADDRESS and INGEST_ADDRESS are the Services; HAS_GATEWAY is `true` where private delivery is on; APP the directory of
 * the image's programs.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** The members of answers that are read here. */
interface Resource {
  id: string
  key: string
  eventId: string
  enrollmentKey: string
  ingestUrl: string
  provisionedAt: string | null
  attemptCount: number
  status: string
  lastError: string | null
  data: Resource[]
}

const { API_ADDRESS = '', INGEST_ADDRESS = '', HAS_GATEWAY = '', APP = '/app' } = process.env
const PATIENCE_MS = 60_000
const RECEIVER_PORT = 3000
const testName = `helm test ${new Date().toISOString()}`

function admin(...args: string[]): Resource & Resource[] {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [`${APP}/api/admin/main.ts`, ...args],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`admin ${args.slice(0, 2).join(' ')}: ${stderr}`)
  return JSON.parse(stdout)
}

const readJson = (text: string): Resource => JSON.parse(text)

/** The first organisation, or one for tests. */
function organisation(): string {
  const [first] = admin('organisations', 'list')
  return (first ?? admin('organisations', 'create', '--name', 'helm test')).id
}

async function until<T>(name: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(500)) {
    const found = await look()
    if (found !== undefined) return found
  }
  throw new Error(`${name}: not seen within ${PATIENCE_MS / 1_000} s`)
}

await using cleanUp = new AsyncDisposableStack()
const owner = organisation()
const [project] = admin('projects', 'list', '--organisation', owner)
const place = ['--organisation', owner, '--project', project?.id ?? '']
const permissions = ['sources', 'destinations', 'connections', 'connectors', 'deliveries'].flatMap(
  (resource) => ['--permission', `${resource}=write`],
)
const key = admin('keys', 'create', '--name', testName, ...permissions, ...place)
cleanUp.defer(() => void admin('keys', 'revoke', key.id))

async function api(method: string, path: string, body?: object): Promise<Resource> {
  const response = await fetch(`${API_ADDRESS}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text === '' ? '{}' : text)
}

async function make(kind: string, fields: object): Promise<Resource> {
  const made = await api('POST', `/${kind}`, { name: testName, ...fields })
  const query = kind === 'connections' ? '' : '?cascade=true'
  cleanUp.defer(async () => void (await api('DELETE', `/${kind}/${made.id}${query}`)))
  return made
}

/** A destination that only this pod can reach, through a connector whose agent runs here. */
async function privateDestination(): Promise<Resource> {
  const connector = await make('connectors', {})
  await until('The gateway', async () =>
    (await api('GET', `/connectors/${connector.id}`)).provisionedAt === null ? undefined : true,
  )
  const agent = spawn(process.execPath, [`${APP}/connector-agent/main.ts`], {
    stdio: 'inherit',
    env: {
      ...process.env,
      POSTERN_URL: API_ADDRESS,
      POSTERN_ENROLLMENT_KEY: connector.enrollmentKey,
      POSTERN_ALLOW: `http://127.0.0.1:${RECEIVER_PORT}`,
      POSTERN_ALLOW_LOOPBACK: 'true',
      STATE_DIR: '/tmp/connector',
      OPS_PORT: '0',
    },
  })
  cleanUp.defer(() => void agent.kill())
  const url = `http://127.0.0.1:${RECEIVER_PORT}/webhook`
  return await make('destinations', { url, mode: 'private', connectorId: connector.id })
}

/** A destination that nobody serves: without a gateway the test ends with the attempt. */
async function publicDestination(): Promise<Resource> {
  return await make('destinations', { url: 'https://postern-helm-test.invalid/' })
}

const received: string[] = []
const receiver = createServer((request, response) => {
  received.push(String(request.headers['webhook-id']))
  request.resume()
  response.end()
})
receiver.listen(RECEIVER_PORT, '127.0.0.1')
cleanUp.defer(() => {
  receiver.closeAllConnections()
  receiver.close()
})

const source = await make('sources', { verifier: { type: 'none' } })
const isPrivate = HAS_GATEWAY === 'true'
const destination = await (isPrivate ? privateDestination() : publicDestination())
await make('connections', { sourceId: source.id, destinationId: destination.id })
const address = `${INGEST_ADDRESS}${new URL(source.ingestUrl).pathname}`
const accepted = await until('An answer of ingest', async () => {
  const answer = await fetch(address, { method: 'POST', body: '{"hello":"world"}' })
  const text = await answer.text()
  return answer.ok ? readJson(text) : undefined
})
console.log(`Stored as ${accepted.eventId}`)
const delivery = await until(isPrivate ? 'The delivery' : 'The attempt', async () => {
  const { data } = await api('GET', `/deliveries?eventId=${accepted.eventId}`)
  const [first] = data
  if (first === undefined || first.attemptCount === 0) return undefined
  return !isPrivate || first.status === 'succeeded' ? first : undefined
})
if (isPrivate && !received.includes(delivery.id))
  throw new Error('The receiver saw another webhook')
console.log(
  isPrivate ? `Delivered as ${delivery.id}` : `Attempted as ${delivery.id}: ${delivery.lastError}`,
)
