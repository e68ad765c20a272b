import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { eventually } from '../kit/relay.ts'
import { openScene, type Scene } from './scene.ts'

/** The commands of docs/kubernetes/install.md by which an operator goes and comes again, as a person runs them. */
const run = promisify(execFile)
const SOON_MS = 60_000
const NAME = 'leaving'

let scene: Scene
let helm: string
beforeAll(async () => {
  scene = await openScene()
  helm = (await run('test/cluster/helm.sh')).stdout.trim()
}, 20 * 60_000)
afterAll(async () => await scene[Symbol.asyncDispose]())

/** The only block of commands below a heading. */
function commandsOf(heading: string): string {
  const page = readFileSync('docs/kubernetes/install.md', 'utf8')
  const section = page.split(`\n### ${heading}\n`)[1]?.split(/\n##/)[0] ?? ''
  return /```sh\n(.*?)```/s.exec(section)?.[1] ?? ''
}

const inShell = async (commands: string): Promise<string> => {
  const { kubeconfig, dir } = scene.cluster
  const { assets } = JSON.parse(readFileSync(`${dir}/cluster.json`, 'utf8'))
  const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${assets}:${process.env['PATH']}` }
  return (await run('sh', ['-ec', commands], { env })).stdout
}

const install = async (release: string, ...more: string[]): Promise<unknown> => {
  const words = ['install', release, 'charts/postern-connector', '-n', scene.namespace]
  const image = ['--set', 'image.repository=registry.test/postern']
  const env = { ...process.env, KUBECONFIG: scene.cluster.kubeconfig }
  return await run(helm, [...words, ...image, ...more], { env })
}

test('finalizers that no operator takes away hold a namespace, and one command lets it go', async () => {
  const { cluster, namespace } = scene
  const relayRef = { name: 'main' }
  const finalizers = ['postern.dev/relay-resource']
  const ends = { sourceRef: { name: NAME }, destinationRef: { name: NAME } }
  const specs = {
    connectors: { relayRef },
    sources: { relayRef },
    destinations: { relayRef, url: 'https://shop.example.com/hooks' },
    connections: { relayRef, ...ends },
  }
  const left = `${namespace}-left`
  await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: left } })
  for (const [plural, spec] of Object.entries(specs)) {
    const { apiVersion, kind } = await scene.apply(plural, NAME, spec)
    await scene.remove(plural, NAME)
    const path = `/apis/postern.dev/v1alpha1/namespaces/${left}/${plural}`
    await cluster.request('POST', path, {
      apiVersion,
      kind,
      metadata: { name: NAME, finalizers },
      spec,
    })
  }
  await cluster.request('DELETE', `/api/v1/namespaces/${left}`)
  await eventually(async () => {
    const { status } = await cluster.request('GET', `/api/v1/namespaces/${left}`)
    expect(JSON.stringify(status.conditions)).toContain('postern.dev/relay-resource in 4')
  }, SOON_MS)
  const said = await inShell(commandsOf('When the operator went first'))
  for (const plural of Object.keys(specs)) {
    expect(said).toContain(`${plural.slice(0, -1)}.postern.dev/${NAME} patched`)
  }
  await eventually(async () => {
    expect(await scene.find(`/api/v1/namespaces/${left}`)).toBeUndefined()
  }, SOON_MS)
  // Again it finds nothing to do.
  expect(await inShell(commandsOf('When the operator went first'))).not.toContain(NAME)
})

test('a release takes over definitions that belong to another or to none, with the objects of theirs', async () => {
  const page = commandsOf('Install again')
  expect(page).toContain('--take-ownership')
  const { uid } = (await scene.get('relays', 'main')).metadata
  const ownerOf = async (): Promise<unknown> => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/connectors.postern.dev'
    const { metadata } = await scene.cluster.request('GET', path)
    return metadata.annotations['meta.helm.sh/release-name']
  }
  const uninstall = async (release: string): Promise<void> => {
    const env = { ...process.env, KUBECONFIG: scene.cluster.kubeconfig }
    await run(helm, ['uninstall', release, '-n', scene.namespace], { env })
  }
  // The set-up of the tests has applied them with kubectl.
  for (const release of ['leaving-one', 'leaving-two']) {
    await expect(install(release)).rejects.toThrow('invalid ownership metadata')
    await install(release, '--take-ownership')
    expect(await ownerOf()).toBe(release)
    await uninstall(release)
    expect(await ownerOf()).toBe(release)
  }
  expect((await scene.get('relays', 'main')).metadata.uid).toBe(uid)
})
