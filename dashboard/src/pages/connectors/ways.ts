import { quoted } from '../../parts/words/shell.ts'

/** Programs that can start a replica; each has its command. */
export const WAYS = ['Node', 'Container', 'Helm', 'Connector resource'] as const
export type Way = (typeof WAYS)[number]

interface Start {
  relay: string
  key: string
  /** A URL or a host that the replica may reach. */
  allow: string
  connector: { id: string; projectId: string; name: string }
}

/** Where the image of Postern lies is known to those who built it. */
const IMAGE = 'registry.example.com/postern'

/** Loopback stays shut unless it is asked for. */
const LOOPBACK = /^(?:https?:\/\/)?(?:localhost|127\.|\[::1\])/
const isLoopback = (allow: string): boolean => LOOPBACK.test(allow)

const COMMANDS: Record<Way, (start: Start) => string> = {
  Node: ({ relay, key, allow }) =>
    [
      `POSTERN_ENROLLMENT_KEY=${quoted(key)} npm run connector -- --relay ${quoted(relay)}`,
      `--allow ${quoted(allow)}${isLoopback(allow) ? ' --allow-loopback' : ''}`,
    ].join(' \\\n  '),

  Container: ({ relay, key, allow, connector }) =>
    [
      `docker run -d --name ${plain(connector.name)} --restart unless-stopped`,
      `-e POSTERN_ENROLLMENT_KEY=${quoted(key)}`,
      '--read-only --tmpfs /var/lib/postern:uid=65532',
      ...(isLoopback(allow) ? ['--network host'] : []),
      `${IMAGE} connector-agent/main.ts --state-dir /var/lib/postern`,
      `--name ${plain(connector.name)} --relay ${quoted(relay)}`,
      `--allow ${quoted(allow)}${isLoopback(allow) ? ' --allow-loopback' : ''}`,
    ].join(' \\\n  '),

  Helm: ({ relay, key, allow, connector }) =>
    [
      `kubectl create secret generic ${plain(connector.name)}-enrollment --from-literal=enrollment-key=${quoted(key)}`,
      [
        `helm install ${plain(connector.name)} charts/postern-connector --set mode=agent`,
        `--set image.repository=${IMAGE}`,
        `--set agent.relayUrl=${quoted(relay)}`,
        `--set agent.enrollmentKey.existingSecret.name=${plain(connector.name)}-enrollment`,
        `--set ${quoted(`agent.allow={${allow}}`)}`,
      ].join(' \\\n  '),
    ].join('\n'),

  'Connector resource': ({ allow, connector }) =>
    [
      "kubectl apply -f - <<'END'",
      'apiVersion: postern.dev/v1alpha1',
      'kind: Connector',
      `metadata: { name: ${plain(connector.name)} }`,
      'spec:',
      '  relayRef: { name: postern }',
      `  projectId: ${connector.projectId}`,
      `  connectorId: ${connector.id}`,
      `  allow: [${ruleOf(allow)}]`,
      'END',
    ].join('\n'),
}

export function commandOf(way: Way, start: Start): string {
  return COMMANDS[way](start)
}

/** Whether the command needs the enrolment key, which is shown once; the operator makes a key of its own. */
export const needsKey = (way: Way): boolean => way !== 'Connector resource'

/** Stands under the command. */
export const NOTES: Record<Way, string> = {
  Node: 'Run it where the destination can be reached, in a checkout of Postern.',
  Container: `Run it where the destination can be reached, with the name of your image in place of ${IMAGE}.`,
  Helm: `Run it in a checkout of Postern, with the name of your image in place of ${IMAGE}. The chart runs two replicas.`,
  'Connector resource':
    'The operator of the cluster takes the connector over and replaces its enrolment key. It needs a Relay named postern in the namespace.',
}

/** A name for containers, releases and objects of Kubernetes. */
function plain(name: string): string {
  const text = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
  return text === '' ? 'connector' : text
}

/** As the resource has it: host, port and scheme apart. */
function ruleOf(allow: string): string {
  const [, scheme, host = allow, port] =
    /^(?:(https?):\/\/)?([^/:]+|\[[^\]]+\])(?::(\d+))?/.exec(allow) ?? []
  return (
    [
      `{ hosts: [${JSON.stringify(host)}]`,
      ...(port === undefined ? [] : [`ports: [${port}]`]),
      ...(scheme === undefined ? [] : [`schemes: [${scheme}]`]),
    ].join(', ') + ' }'
  )
}
