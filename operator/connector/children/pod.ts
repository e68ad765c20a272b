import type { ConnectorSpec } from '../../kinds/connector.ts'
import type { KubeObject } from '../../runtime/kube/object.ts'
import { AGENT_CONTAINER } from '../../world/child-kinds.ts'
import { childName, selectorOf } from './names.ts'

const OPS_PORT = 9090
const GRACE_SECONDS = 75
/** A group without rights of its own, which may read the files of volumes. */
const FILES_GROUP = 65_532

const STATE_DIR = '/var/lib/postern'
const ENROLMENT_DIR = '/etc/postern/enrollment'
const TLS_DIR = '/etc/postern/tls'
const CA_DIR = '/etc/postern/destination-ca'

export const KEY_FILE = 'enrollment-key'
export const CA_FILE = 'ca.crt'

export interface Surroundings {
  /** The image where the Connector names none. */
  image: string
  baseUrl: string
  hasCa: boolean
}

/** A pod as the profile `restricted` wants it: no token of Kubernetes, no root, nothing to write to but memory. */
export function podSpec(
  connector: KubeObject,
  spec: ConnectorSpec,
  { image, baseUrl, hasCa }: Surroundings,
): object {
  const template = spec.template ?? { terminationGracePeriodSeconds: GRACE_SECONDS }
  const { volumes, mounts } = filesOf(connector, spec)
  return {
    automountServiceAccountToken: false,
    serviceAccountName: template.serviceAccountName ?? childName(connector),
    enableServiceLinks: false,
    terminationGracePeriodSeconds: template.terminationGracePeriodSeconds,
    securityContext: {
      runAsNonRoot: true,
      fsGroup: FILES_GROUP,
      seccompProfile: { type: 'RuntimeDefault' },
      ...template.securityContext,
    },
    ...scheduling(connector, template),
    containers: [
      {
        name: AGENT_CONTAINER,
        image: template.image ?? image,
        ...(template.imagePullPolicy !== undefined && {
          imagePullPolicy: template.imagePullPolicy,
        }),
        args: ['connector-agent/main.ts'],
        // The end of its log says in the status of the pod why it ended.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        env: merged(environment(spec, { baseUrl, hasCa }), (template.env ?? []).map(asVariable)),
        ports: [{ name: 'ops', containerPort: OPS_PORT, protocol: 'TCP' }],
        resources: template.resources ?? {
          requests: { cpu: '20m', memory: '96Mi' },
          limits: { memory: '384Mi' },
        },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        // It lives whether or not it reaches the relay; without a session it takes no requests.
        startupProbe: probe('/livez', { periodSeconds: 2, failureThreshold: 30 }),
        livenessProbe: probe('/livez', { periodSeconds: 10, failureThreshold: 6 }),
        readinessProbe: probe('/readyz', { periodSeconds: 5, failureThreshold: 2 }),
        volumeMounts: mounts,
      },
    ],
    volumes,
  }
}

interface Variable {
  name: string
  value?: string | undefined
  valueFrom?: object | undefined
}

/** By name, as the API server keys the list: of two variables of a name it refuses both. */
function merged(ours: readonly Variable[], theirs: readonly Variable[]): Variable[] {
  return [...new Map([...ours, ...theirs].map((one) => [one.name, one])).values()]
}

/** `value` is empty where it stands elsewhere. */
function asVariable({ name, value, valueFrom }: Variable): Variable {
  return valueFrom === undefined ? { name, value } : { name, valueFrom }
}

function environment(
  spec: ConnectorSpec,
  { baseUrl, hasCa }: Pick<Surroundings, 'baseUrl' | 'hasCa'>,
): Variable[] {
  const { caSecretRef, clientCertificateSecretRef } = spec.tls ?? {}
  return [
    { name: 'POSTERN_URL', value: baseUrl },
    { name: 'POSTERN_ENROLLMENT_KEY_FILE', value: `${ENROLMENT_DIR}/${KEY_FILE}` },
    { name: 'POSTERN_ALLOW', value: JSON.stringify(spec.allow) },
    { name: 'STATE_DIR', value: STATE_DIR },
    // Whatever family it is of, the kubelet and Prometheus reach the pod there and nowhere else.
    { name: 'HOST', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
    { name: 'OPS_PORT', value: String(OPS_PORT) },
    // The name of the pod, which is the same when it is made anew.
    {
      name: 'INSTANCE_NAME',
      valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } },
    },
    ...(hasCa ? [{ name: 'RELAY_CA_FILE', value: `${ENROLMENT_DIR}/${CA_FILE}` }] : []),
    ...(caSecretRef
      ? [{ name: 'DESTINATION_CA_FILE', value: `${CA_DIR}/${caSecretRef.key}` }]
      : []),
    ...(clientCertificateSecretRef
      ? [
          { name: 'CLIENT_CERT_FILE', value: `${TLS_DIR}/tls.crt` },
          { name: 'CLIENT_KEY_FILE', value: `${TLS_DIR}/tls.key` },
        ]
      : []),
  ]
}

function filesOf(
  connector: KubeObject,
  { tls }: ConnectorSpec,
): { volumes: object[]; mounts: object[] } {
  const secrets = [
    { name: 'enrollment', secretName: childName(connector), mountPath: ENROLMENT_DIR },
    ...(tls?.caSecretRef
      ? [{ name: 'destination-ca', secretName: tls.caSecretRef.name, mountPath: CA_DIR }]
      : []),
    ...(tls?.clientCertificateSecretRef
      ? [{ name: 'tls', secretName: tls.clientCertificateSecretRef.name, mountPath: TLS_DIR }]
      : []),
  ]
  return {
    volumes: [
      // In memory: a token on a disk of the node would outlive the pod.
      { name: 'state', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      ...secrets.map(({ name, secretName }) => ({
        name,
        secret: { secretName, defaultMode: 0o440 },
      })),
    ],
    mounts: [
      { name: 'state', mountPath: STATE_DIR },
      ...secrets.map(({ name, mountPath }) => ({ name, mountPath, readOnly: true })),
    ],
  }
}

function scheduling(
  connector: KubeObject,
  template: NonNullable<ConnectorSpec['template']>,
): object {
  const { imagePullSecrets, nodeSelector, affinity, tolerations, priorityClassName } = template
  const labelSelector = { matchLabels: selectorOf(connector) }
  const spread = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector,
  }))
  return {
    topologySpreadConstraints: template.topologySpreadConstraints ?? spread,
    ...(imagePullSecrets && { imagePullSecrets }),
    ...(nodeSelector && { nodeSelector }),
    ...(affinity && { affinity }),
    ...(tolerations && { tolerations }),
    ...(priorityClassName !== undefined && { priorityClassName }),
  }
}

function probe(path: string, times: { periodSeconds: number; failureThreshold: number }): object {
  return { httpGet: { path, port: 'ops', scheme: 'HTTP' }, timeoutSeconds: 3, ...times }
}
