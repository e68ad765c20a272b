import { execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { client, createCertificates, kubeconfigFile, pkiFile, writeKubeconfig } from './pki.ts'

const run = promisify(execFile)

const READY_MS = 120_000
const STOP_MS = 10_000
const REQUEST_MS = 30_000
const POLL_MS = 25
const OUTPUT_MAX = 256 * 1024 * 1024

type ProcessName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager'

/** Processes beside the control plane, for a cluster that runs pods. */
export interface Addition {
  /** Where the API server listens in place of the loopback interface. */
  address: string
  /** Users that get a kubeconfig, with their groups. */
  users: readonly (readonly [user: string, ...groups: string[]])[]
  processes(place: { dir: string; assets: string }): Record<string, string[]>
  /** Before they start: there are certificates. */
  prepare(place: { dir: string; assets: string }): Promise<void>
  /** Once the process of that name was started. */
  started(name: string, place: { dir: string; assets: string }): Promise<void>
}

/** Whatever the API server answers with: tests look into all of it. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Answer = any

/**
 * A real Kubernetes control plane: etcd, API server and controller manager as plain processes of this user. A cluster is
 * its directory, with certificates, kubeconfigs, data, logs, a file for each process, and `cluster.json` with the command
 * lines. etcd listens on a socket there, and only the API server takes a port, so that clusters share nothing.
 */
export interface Cluster {
  dir: string
  server: string
  /** With all rights. */
  kubeconfig: string
  /** Resolves when the process is gone and its port free; a SIGSTOP and SIGCONT resolve at once. */
  kill(name: ProcessName, signal?: NodeJS.Signals): Promise<void>
  /** Starts it again with the command line that it had. */
  start(name: ProcessName): Promise<void>
  restartApiserver(options?: { downtimeMs?: number }): Promise<void>
  /** Drops etcd's history. A restarted API server then answers 410 to a watch from before. */
  compact(): Promise<void>
  /** The standard output of kubectl with all rights. */
  kubectl(...args: string[]): Promise<string>
  /** With all rights; fails with an error that has `status` unless the answer is 2xx. */
  request(method: string, path: string, body?: unknown, type?: string): Promise<Answer>
  /** Kubeconfigs of a user and of a service account, with the rights that RBAC gives them. */
  userKubeconfig(user: string, groups?: readonly string[]): Promise<string>
  serviceAccountKubeconfig(namespace: string, name: string): Promise<string>
  /** Ends all processes and removes the directory. */
  stop(): Promise<void>
}

interface State {
  dir: string
  assets: string
  server: string
  processes: Record<string, string[]>
}

/** Where `build.sh` puts the binaries; KUBEBUILDER_ASSETS names another place. */
function assetsDir(): string {
  const { KUBEBUILDER_ASSETS, XDG_CACHE_HOME } = process.env
  if (KUBEBUILDER_ASSETS) return KUBEBUILDER_ASSETS
  const module = readFileSync(new URL('kubernetes/go.mod', import.meta.url), 'utf8')
  const version = /^\s*k8s\.io\/kubernetes (v\S+)/m.exec(module)?.[1] ?? ''
  return join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'postern', 'cluster', version)
}

/** Starts a cluster that ends with this process, however this process ends. */
export async function startCluster(addition?: Addition): Promise<Cluster> {
  const dir = await mkdtemp(join(tmpdir(), 'postern-cluster-'))
  const guard = startGuard(dir)
  try {
    await createCluster(dir, addition)
  } catch (error) {
    guard.kill()
    await stopProcesses(dir)
    throw error
  }
  const cluster = await openCluster(dir)
  return {
    ...cluster,
    async stop() {
      await cluster.stop()
      guard.kill()
    },
  }
}

async function createCluster(dir: string, addition?: Addition): Promise<void> {
  const assets = assetsDir()
  const address = addition?.address ?? '127.0.0.1'
  const port = await freePort(address)
  const processes = {
    etcd: etcdCommand(dir, assets),
    'kube-apiserver': apiserverCommand({ dir, assets, address, port }),
    'kube-controller-manager': controllerManagerCommand(dir, assets),
    ...addition?.processes({ dir, assets }),
  }
  for (const [file = ''] of [...Object.values(processes), [join(assets, 'kubectl')]]) {
    if (file.startsWith('/') && !existsSync(file)) {
      throw new Error(`${file} is missing: run test/cluster/build.sh`)
    }
  }
  const state: State = { dir, assets, server: `https://${address}:${port}`, processes }
  for (const folder of ['pki', 'kubeconfig', 'logs', 'pids']) await mkdir(join(dir, folder))
  await writeFile(join(dir, 'cluster.json'), JSON.stringify(state, null, 2))
  await createCertificates(state)
  for (const [user, ...groups] of addition?.users ?? []) await client(state, user, groups)
  await addition?.prepare(state)
  await startProcess(state, 'etcd')
  await startProcess(state, 'kube-apiserver')
  await untilReady(state)
  await startProcess(state, 'kube-controller-manager')
  for (const name of Object.keys(addition?.processes(state) ?? {})) {
    await startProcess(state, name)
    await addition?.started(name, state)
  }
  await until('service accounts', dir, async () =>
    ask(state, 'GET', '/api/v1/namespaces/default/serviceaccounts/default'),
  )
}

/** A handle on the cluster in a directory, from any process of this user. */
export async function openCluster(dir: string): Promise<Cluster> {
  const state: State = JSON.parse(await readFile(join(dir, 'cluster.json'), 'utf8'))
  const kubeconfig = kubeconfigFile(dir, 'admin')
  const start = async (name: ProcessName): Promise<void> => {
    await startProcess(state, name)
    if ((await pidOf(dir, 'kube-apiserver')) !== undefined) await untilReady(state)
  }
  const kill = async (name: ProcessName, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> =>
    await killProcess(dir, name, signal)
  const request: Cluster['request'] = async (method, path, body, type) =>
    await ask(state, method, path, { body, type })
  return {
    dir,
    server: state.server,
    kubeconfig,
    kill,
    start,
    async restartApiserver({ downtimeMs = 0 } = {}) {
      await kill('kube-apiserver')
      await sleep(downtimeMs)
      await start('kube-apiserver')
    },
    compact: async () => await compact(dir),
    async kubectl(...args) {
      const cache = join(dir, 'cache')
      const env = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: cache }
      const file = join(state.assets, 'kubectl')
      return (await run(file, args, { env, maxBuffer: OUTPUT_MAX })).stdout
    },
    request,
    userKubeconfig: async (user, groups = []) => await client(state, user, groups),
    async serviceAccountKubeconfig(namespace, name) {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
      const { status } = await request('POST', path, review)
      return await writeKubeconfig(state, `${namespace}-${name}`, { token: status.token })
    },
    async stop() {
      await stopProcesses(dir)
      await rm(dir, { recursive: true, force: true })
    },
  }
}

function etcdCommand(dir: string, assets: string): string[] {
  return [
    join(assets, 'etcd'),
    `--data-dir=${join(dir, 'etcd')}`,
    `--listen-client-urls=unix://${join(dir, 'etcd.sock')}`,
    `--listen-peer-urls=unix://${join(dir, 'etcd-peer.sock')}`,
    '--advertise-client-urls=http://localhost:2379', // It must be given, and nobody uses it.
    '--unsafe-no-fsync', // A killed process loses nothing; only a machine without power would.
    '--log-level=warn',
  ]
}

interface Listening {
  dir: string
  assets: string
  address: string
  port: number
}

function apiserverCommand({ dir, assets, address, port }: Listening): string[] {
  return [
    join(assets, 'kube-apiserver'),
    `--etcd-servers=unix://${join(dir, 'etcd.sock')}`,
    '--etcd-compaction-interval=0', // History goes when a test says so.
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--secure-port=${port}`,
    // The endpoints of the service `kubernetes` may not hold a loopback address.
    ...(address.startsWith('127.') ? ['--endpoint-reconciler-type=none'] : []),
    `--client-ca-file=${pkiFile(dir, 'ca.crt')}`,
    `--tls-cert-file=${pkiFile(dir, 'apiserver.crt')}`,
    `--tls-private-key-file=${pkiFile(dir, 'apiserver.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pkiFile(dir, 'service-account.key')}`,
    `--service-account-signing-key-file=${pkiFile(dir, 'service-account.key')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    // As OpenShift has it: whoever blocks an owner's deletion needs a right to.
    '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
    // For the logs and commands of pods, where there are some.
    `--kubelet-certificate-authority=${pkiFile(dir, 'ca.crt')}`,
    `--kubelet-client-certificate=${pkiFile(dir, 'admin.crt')}`,
    `--kubelet-client-key=${pkiFile(dir, 'admin.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
  ]
}

function controllerManagerCommand(dir: string, assets: string): string[] {
  return [
    join(assets, 'kube-controller-manager'),
    `--kubeconfig=${kubeconfigFile(dir, 'system_kube-controller-manager')}`,
    '--secure-port=0',
    '--leader-elect=false',
    '--use-service-account-credentials=true',
    `--root-ca-file=${pkiFile(dir, 'ca.crt')}`,
    `--service-account-private-key-file=${pkiFile(dir, 'service-account.key')}`,
    '--kube-api-qps=500', // With the default of 20 a test of a thousand objects would measure it.
    '--kube-api-burst=1000',
  ]
}

async function startProcess({ dir, processes }: State, name: string): Promise<void> {
  if ((await pidOf(dir, name)) !== undefined) throw new Error(`${name} is still running`)
  const log = openSync(join(dir, 'logs', name), 'a')
  const [file = '', ...args] = processes[name] ?? []
  const child = spawn(file, args, { cwd: dir, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  await once(child, 'spawn')
  child.unref()
  const noteEnd = async (code: number | null, signal: string | null): Promise<void> =>
    await appendFile(join(dir, 'logs', name), `Ended with ${signal ?? code}\n`).catch(() => {})
  child.once('exit', (code, signal) => void noteEnd(code, signal))
  await untilNamed(child.pid ?? 0)
  await writeFile(join(dir, 'pids', name), String(child.pid))
}

/**
 * Node calls a process spawned while the kernel still loads its file, and its command line is empty until that is read:
 * seconds later where the disk is slow and the file is not in memory.
 */
async function untilNamed(pid: number): Promise<void> {
  const deadline = performance.now() + READY_MS
  while (performance.now() < deadline) {
    if ((await commandLine(pid)) !== '' || (await hasEnded(pid))) return
    await sleep(POLL_MS)
  }
  throw new Error(`Process ${pid} is not loaded after ${READY_MS} ms`)
}

async function commandLine(pid: number): Promise<string> {
  return await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
}

/** The pid of a process of this cluster that runs, whoever started it. */
async function pidOf(dir: string, name: string): Promise<number | undefined> {
  try {
    const pid = Number(await readFile(join(dir, 'pids', name), 'utf8'))
    // The number may belong to a stranger by now; our command lines all name the directory.
    return (await commandLine(pid)).includes(dir) ? pid : undefined
  } catch {
    return undefined
  }
}

async function killProcess(dir: string, name: string, signal: NodeJS.Signals): Promise<void> {
  const pid = await pidOf(dir, name)
  if (pid === undefined) throw new Error(`Cannot send ${signal} to ${name}: it does not run`)
  process.kill(pid, signal)
  if (signal === 'SIGSTOP' || signal === 'SIGCONT') return
  const deadline = performance.now() + STOP_MS
  while (!(await hasEnded(pid))) {
    if (performance.now() > deadline) throw new Error(`${name} does not end`)
    await sleep(POLL_MS)
  }
  await rm(join(dir, 'pids', name), { force: true })
}

/** A dying process gives its memory back first, and its files and sockets later. */
async function hasEnded(pid: number): Promise<boolean> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const isZombie = stat.slice(stat.lastIndexOf(')')).startsWith(') Z')
    return isZombie && (await readdir(`/proc/${pid}/task`)).length === 1
  } catch {
    return true
  }
}

/** A frozen process does not hear SIGTERM, and none of them has anything to save. */
async function stopProcesses(dir: string): Promise<void> {
  const names = await readdir(join(dir, 'pids')).catch(() => [])
  const end = async (name: string): Promise<void> =>
    await killProcess(dir, name, 'SIGKILL').catch(() => {})
  await Promise.all(names.filter((name) => name !== 'etcd').map(end))
  await end('etcd')
}

/** Waits at the other end of a pipe: when its owner dies, by SIGKILL too, it stops the cluster. */
function startGuard(dir: string): { kill: () => void } {
  const file = fileURLToPath(new URL('guard.ts', import.meta.url))
  const stdio = ['pipe', 'ignore', 'ignore'] as const
  const guard = spawn(process.execPath, [file, dir], { detached: true, stdio: [...stdio] })
  guard.unref()
  guard.stdin?.on('error', () => {})
  return { kill: () => void guard.kill() }
}

/** For the guard: ends the cluster in a directory and removes it. */
export async function removeCluster(dir: string): Promise<void> {
  await stopProcesses(dir)
  await rm(dir, { recursive: true, force: true })
}

/** Below the range of outgoing connections, so that none takes it between a stop and a start. */
async function freePort(address: string): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(20_000, 30_000)
    const isFree = await new Promise<boolean>((done) => {
      const probe = createServer().once('error', () => done(false))
      probe.listen(port, address, () => probe.close(() => done(true)))
    })
    if (isFree) return port
  }
  throw new Error('There is no free port')
}

async function until(wish: string, dir: string, look: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + READY_MS
  let last: unknown
  while (performance.now() < deadline) {
    for (const name of await readdir(join(dir, 'pids'))) {
      if ((await pidOf(dir, name)) !== undefined) continue
      const log = await readFile(join(dir, 'logs', name), 'utf8')
      throw new Error(`${name} has ended:\n${log.split('\n').slice(-15).join('\n')}`)
    }
    try {
      if ((await look()) !== undefined) return
    } catch (error) {
      last = error
    }
    await sleep(POLL_MS)
  }
  throw new Error(`No ${wish} within ${READY_MS} ms: see ${join(dir, 'logs')}`, { cause: last })
}

/** It makes its namespaces after it calls itself ready. */
async function untilReady(state: State): Promise<void> {
  await until('API server', state.dir, async () => {
    await ask(state, 'GET', '/readyz')
    return await ask(state, 'GET', '/api/v1/namespaces/default')
  })
}

async function ask(
  { dir, server }: State,
  method: string,
  path: string,
  { body, type = 'application/json' }: { body?: unknown; type?: string | undefined } = {},
): Promise<Answer> {
  const read = async (file: string): Promise<Buffer> => await readFile(pkiFile(dir, file))
  const [ca, cert, key] = await Promise.all(['ca.crt', 'admin.crt', 'admin.key'].map(read))
  const options = { method, ca, cert, key, headers: { 'content-type': type } }
  return await send(https.request(new URL(path, server), options), body)
}

async function compact(dir: string): Promise<void> {
  const etcd = async (path: string, body: object): Promise<Answer> => {
    const headers = { 'content-type': 'application/json' }
    const socketPath = join(dir, 'etcd.sock')
    return await send(http.request({ socketPath, method: 'POST', path, headers }), body)
  }
  const { header } = await etcd('/v3/maintenance/status', {})
  await etcd('/v3/kv/compaction', { revision: header.revision, physical: true })
}

async function send(outgoing: http.ClientRequest, body: unknown): Promise<Answer> {
  outgoing.setTimeout(REQUEST_MS, () => outgoing.destroy(new Error('There is no answer')))
  const heard = once(outgoing, 'response')
  outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  const [incoming]: http.IncomingMessage[] = await heard
  const text = ((await incoming?.setEncoding('utf8').toArray()) ?? []).join('')
  const status = incoming?.statusCode ?? 0
  if (status >= 300) throw Object.assign(new Error(`${status}: ${text.trim()}`), { status })
  const isJson = incoming?.headers['content-type']?.includes('json')
  return isJson ? JSON.parse(text) : text
}
