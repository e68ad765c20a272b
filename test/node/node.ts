import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import type { Addition, Cluster } from '../cluster/cluster.ts'
import { kubeconfigFile, pkiFile, serverCertificate } from '../cluster/pki.ts'

/** A real node: containerd, kubelet, kube-proxy and DNS, inside the namespaces that namespaces.sh makes. */
const run = promisify(execFile)

/** As namespaces.sh has them. */
const ADDRESS = '10.95.0.1'
const DNS_ADDRESS = '10.95.0.10'
const POD_SUBNET = '10.97.0.0/16'
const NODE_NAME = 'node-1'
const SOCKET = '/run/containerd/containerd.sock'
const PAUSE_IMAGE = 'postern.test/pause:1'
const VOLUMES = 16
const PATIENCE_MS = 60_000

export const NODE: Addition = {
  address: ADDRESS,
  users: [
    ['system:kube-scheduler'],
    [`system:node:${NODE_NAME}`, 'system:nodes'],
    ['system:kube-proxy'],
    ['coredns', 'system:masters'],
  ],
  processes: commands,
  prepare: writeFiles,
  async started(name) {
    // The kubelet ends when its runtime does not answer.
    if (name === 'containerd') await untilContainerdAnswers()
  },
}

type Place = Parameters<Addition['processes']>[0]
const fileIn = ({ dir }: Place, name: string): string => join(dir, 'node', name)
const userFile = ({ dir }: Place, user: string): string =>
  kubeconfigFile(dir, user.replaceAll(':', '_'))

function commands(place: Place): Record<string, string[]> {
  const { assets } = place
  return {
    containerd: ['/usr/bin/containerd', '--config', fileIn(place, 'containerd.toml')],
    'kube-scheduler': [
      join(assets, 'kube-scheduler'),
      `--kubeconfig=${userFile(place, 'system:kube-scheduler')}`,
      '--secure-port=0',
      '--leader-elect=false',
    ],
    kubelet: [
      join(assets, 'kubelet'),
      `--config=${fileIn(place, 'kubelet.json')}`,
      `--kubeconfig=${userFile(place, `system:node:${NODE_NAME}`)}`,
      `--hostname-override=${NODE_NAME}`,
    ],
    'kube-proxy': [join(assets, 'kube-proxy'), `--config=${fileIn(place, 'kube-proxy.json')}`],
    coredns: [join(assets, 'coredns'), '-conf', fileIn(place, 'Corefile')],
  }
}

async function writeFiles(place: Place): Promise<void> {
  await serverCertificate(place.dir, 'kubelet-server', `IP:${ADDRESS},DNS:${NODE_NAME}`)
  await mkdir(fileIn(place, 'cni'), { recursive: true })
  const files = {
    'kubelet.json': JSON.stringify(kubeletConfig(place)),
    'kube-proxy.json': JSON.stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'nftables',
      bindAddress: ADDRESS,
      hostnameOverride: NODE_NAME,
      clientConnection: { kubeconfig: userFile(place, 'system:kube-proxy') },
      clusterCIDR: POD_SUBNET,
      // The table of connections belongs to the machine.
      conntrack: { maxPerCore: 0, min: 0 },
    }),
    'cni/pods.conflist': JSON.stringify({
      cniVersion: '0.4.0',
      name: 'pods',
      plugins: [
        {
          type: 'bridge',
          bridge: 'pods0',
          isGateway: true,
          hairpinMode: true,
          ipam: {
            type: 'host-local',
            ranges: [[{ subnet: POD_SUBNET }]],
            routes: [{ dst: '0.0.0.0/0' }],
          },
        },
        { type: 'portmap', capabilities: { portMappings: true } },
      ],
    }),
    'containerd.toml': `
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${fileIn(place, 'cni')}"
`,
    Corefile: `
.:53 {
  bind ${DNS_ADDRESS}
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${userFile(place, 'coredns')}
  }
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(fileIn(place, name), text)
}

function kubeletConfig({ dir }: Place): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: ADDRESS,
    authentication: {
      anonymous: { enabled: false },
      x509: { clientCAFile: pkiFile(dir, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: pkiFile(dir, 'kubelet-server.crt'),
    tlsPrivateKeyFile: pkiFile(dir, 'kubelet-server.key'),
    containerRuntimeEndpoint: `unix://${SOCKET}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${basename(process.env['NODE_DIR'] ?? dirname(dir))}`,
    // Version 1.35 refuses version 1 of cgroups unless told not to.
    failCgroupV1: false,
    failSwapOn: false,
    // A lower one needs a capability that a machine without full root lacks.
    oomScoreAdj: 0,
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: 'cluster.local',
    maxPods: 250,
    // The disk belongs to the machine, and so does the care for it.
    evictionHard: {
      'memory.available': '0%',
      'nodefs.available': '0%',
      'nodefs.inodesFree': '0%',
      'imagefs.available': '0%',
    },
    imageGCHighThresholdPercent: 100,
  }
}

async function untilContainerdAnswers(): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(100)) {
    try {
      await run('ctr', ['version'])
      return
    } catch (error) {
      if (performance.now() > end) throw error
    }
  }
}

/** Makes the images of a Docker archive known to the node. */
export async function loadImage(archive: string): Promise<void> {
  await run('ctr', ['--namespace', 'k8s.io', 'images', 'import', archive])
}

/** Resolves when pods can run: with a default storage class, which has room for 16 claims. */
export async function untilNodeReady(cluster: Cluster): Promise<void> {
  await createVolumes(cluster)
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(200)) {
    const { status } = await cluster
      .request('GET', `/api/v1/nodes/${NODE_NAME}`)
      .catch(() => ({ status: {} }))
    const conditions: { type: string; status: string }[] = status.conditions ?? []
    if (conditions.some((one) => one.type === 'Ready' && one.status === 'True')) return
    if (performance.now() > end) throw new Error(`${NODE_NAME} does not get ready`)
  }
}

async function createVolumes(cluster: Cluster): Promise<void> {
  await cluster.request('POST', '/apis/storage.k8s.io/v1/storageclasses', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: 'local',
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  const here = { key: 'kubernetes.io/hostname', operator: 'In', values: [NODE_NAME] }
  for (let at = 0; at < VOLUMES; at++) {
    const path = join(cluster.dir, 'volumes', String(at))
    await mkdir(path, { recursive: true })
    // Pods run as any user.
    await chmod(path, 0o777)
    await cluster.request('POST', '/api/v1/persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `local-${at}` },
      spec: {
        capacity: { storage: '100Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'local',
        local: { path },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
      },
    })
  }
}
