import { z } from 'zod'

import {
  conditions,
  declared,
  displayName,
  fixed,
  LABEL_VALUE_MAX,
  LAST_COLUMNS,
  objectName,
  observedGeneration,
  openObject,
  ownKind,
  READY_COLUMN,
  rules,
  SecretKeyRef,
  time,
} from './parts.ts'

export const REPLICAS_MAX = 50
const RULES_MAX = 50
const HOSTS_MAX = 50
const PORTS_MAX = 50

/** An agent finishes what is in flight for so long (docs/connector.md), and a little more to go. */
const GRACE_SECONDS_MIN = 60
const GRACE_SECONDS_DEFAULT = 75

/** An agent that cannot read its rules does not start. (core/egress/allow-list.ts) */
const host = z
  .string()
  .min(1)
  .max(253)
  .meta(
    rules({
      rule: String.raw`self.matches(r'^(\*\.)?[^*\s/:.@?#\[\]]+(\.[^*\s/:.@?#\[\]]+)*\.?$')`,
      message: 'must be a host name, or *. and a host name; a port stands in ports',
    }),
  )
const range = z
  .string()
  .min(1)
  .max(50)
  .meta(
    rules({
      rule: 'isCIDR(self) || isIP(self)',
      message: 'must be an address or a range of addresses, such as 10.0.0.0/8',
    }),
  )

const Allow = z
  .object({
    hosts: z
      .array(host)
      .min(1)
      .max(HOSTS_MAX)
      .optional()
      .describe('Host names; `*.` at the front of one stands for any name below it.'),
    cidrs: z.array(range).min(1).max(HOSTS_MAX).optional().describe('Ranges of addresses.'),
    ports: z
      .array(z.int().min(1).max(65_535))
      .min(1)
      .max(PORTS_MAX)
      .optional()
      .describe('Ports; 80 and 443 when left out.'),
    schemes: z
      .array(z.enum(['http', 'https']))
      .min(1)
      .max(2)
      .optional()
      .describe('Schemes; both when left out.'),
  })
  .meta({
    description: 'Addresses that the agents may reach.',
    ...rules({
      rule: 'has(self.hosts) != has(self.cidrs)',
      message: 'a rule has either hosts or cidrs',
    }),
  })

const texts = (
  description: string,
  valueMax: number,
): z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>> =>
  z
    .record(z.string().max(317), z.string().max(valueMax))
    .meta({ maxProperties: 50, description })
    .optional()

const quantity = z.union([z.int(), z.string().max(30)]).meta({ 'x-kubernetes-int-or-string': true })

const quantities = (
  description: string,
): z.ZodOptional<z.ZodType<Record<string, string | number>>> =>
  z.record(z.string(), quantity).meta({ description, maxProperties: 20 }).optional()

const Toleration = z
  .object({
    key: z.string().max(317).optional().describe('The key of the taint.'),
    operator: z.enum(['Exists', 'Equal']).optional().describe('How the value is compared.'),
    value: z.string().max(LABEL_VALUE_MAX).optional().describe('The value of the taint.'),
    effect: z
      .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
      .optional()
      .describe('The effect of the taint.'),
    tolerationSeconds: z.int().optional().describe('How long it is tolerated.'),
  })
  .describe('A taint of a node that pods tolerate.')

/** A pod reads it in its own namespace alone. */
const keyIn = (kind: string, name: string): z.ZodType<{ name: string; key: string }> =>
  z
    .object({
      name: objectName.describe(name),
      key: z.string().min(1).max(253).describe('The key of the value in it.'),
    })
    .describe(`A value of a ${kind}.`)

const Variable = z
  .object({
    name: z.string().min(1).max(253).describe('The name of the variable.'),
    value: z.string().max(10_000).default('').describe('Its value.'),
    valueFrom: z
      .object({
        secretKeyRef: SecretKeyRef.optional().describe(
          'A value of a Secret with the label `postern.dev/use=connector`.',
        ),
        configMapKeyRef: keyIn(
          'ConfigMap',
          'The name of a ConfigMap in the same namespace.',
        ).optional(),
      })
      .optional()
      .meta({
        description: 'Where its value is, in place of `value`.',
        ...rules({
          rule: 'has(self.secretKeyRef) != has(self.configMapKeyRef)',
          message: 'has either secretKeyRef or configMapKeyRef',
        }),
      }),
  })
  .meta({
    description: 'A variable.',
    ...rules({
      rule: "!has(self.valueFrom) || !has(self.value) || self.value == ''",
      message: 'value and valueFrom exclude each other',
    }),
  })

const isWanted = (
  what: string,
): z.ZodOptional<z.ZodObject<{ enabled: z.ZodDefault<z.ZodBoolean> }>> =>
  z
    .object({ enabled: z.boolean().default(true).describe('False leaves it out.') })
    .optional()
    .describe(what)

const Template = z
  .object({
    image: z.string().min(1).max(500).optional().describe('The image; the operator’s by default.'),
    imagePullPolicy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .optional()
      .describe('When the image is pulled.'),
    imagePullSecrets: z
      .array(z.object({ name: objectName }).describe('A Secret.'))
      .max(20)
      .optional()
      .describe('Secrets to pull the image with.'),
    labels: texts('Labels of the pods, beside those of the operator.', LABEL_VALUE_MAX),
    annotations: texts('Annotations of the pods.', 10_000),
    resources: z
      .object({
        requests: quantities('Resources that a pod gets.'),
        limits: quantities('Resources that it may use.'),
      })
      .optional()
      .describe('Resources of the agent.'),
    env: z
      .array(Variable)
      .max(50)
      .optional()
      .describe(
        'Environment of the agent, such as `POSTERN_PROXY`. A secret value stands in a Secret that `valueFrom` names.',
      ),
    nodeSelector: texts('Labels of nodes that take the pods.', LABEL_VALUE_MAX),
    affinity: openObject('Affinity of the pods, as in a pod.').optional(),
    tolerations: z.array(Toleration).max(50).optional().describe('Taints that pods tolerate.'),
    topologySpreadConstraints: z
      .array(openObject('A constraint, as in a pod.'))
      .max(10)
      .optional()
      .describe('How the pods are spread; over hosts and zones by default.'),
    priorityClassName: objectName.optional().describe('The priority of the pods.'),
    serviceAccountName: objectName
      .optional()
      .describe('A service account of yours; one of its own by default.'),
    securityContext: openObject(
      'Security of the pod, merged over the restricted default.',
    ).optional(),
    terminationGracePeriodSeconds: z
      .int()
      .min(GRACE_SECONDS_MIN)
      .max(3_600)
      .default(GRACE_SECONDS_DEFAULT)
      .describe('How long an agent may finish what is in flight.'),
  })
  .describe(
    'How the agents run. An installation has to allow annotations, env, image, labels, priorityClassName, securityContext and serviceAccountName (docs/kubernetes/rights.md).',
  )

export const ConnectorSpec = z
  .object({
    ...declared,
    connectorId: z
      .string()
      .regex(/^cnr_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
      .optional()
      .describe('A connector that is there already, to be taken over. It never changes.'),
    displayName: displayName
      .optional()
      .describe(
        'The name in the relay, unique in the project; made of namespace, name and cluster by default.',
      ),
    replicas: z.int().min(0).max(REPLICAS_MAX).default(2).describe('How many agents run.'),
    disabled: z.boolean().default(false).describe('True ends all sessions: deliveries wait.'),
    enrollment: z
      .object({
        rotateAfter: z
          .string()
          .max(20)
          .regex(/^(\d+h)?(\d+m)?(\d+s)?$/)
          .optional()
          .describe(
            'The age at which the enrolment key is replaced, such as 720h; at least one hour.',
          ),
      })
      .optional()
      .describe('The key that agents enrol with.'),
    allow: z
      .array(Allow)
      .max(RULES_MAX)
      .default([])
      .describe('Addresses that the agents may reach. Without a rule they reach nothing.'),
    tls: z
      .object({
        caSecretRef: SecretKeyRef.optional().describe(
          'PEM certificates that destinations may have, beside those of the system.',
        ),
        clientCertificateSecretRef: z
          .object({
            name: objectName.describe(
              'The name of a Secret of the type kubernetes.io/tls with the label `postern.dev/use=connector`.',
            ),
          })
          .optional()
          .describe('The certificate that agents show to destinations.'),
      })
      .optional()
      .describe('TLS between agents and destinations.'),
    networkPolicy: isWanted('The NetworkPolicy of the agents: Prometheus alone may call them.'),
    podDisruptionBudget: isWanted('The budget by which one agent at a time is evicted.'),
    template: Template.optional(),
  })
  .meta({
    description: 'A connector of the relay, and the agents that serve it here.',
    ...rules(...fixed('projectId', 'connectorId')),
  })

export type ConnectorSpec = z.infer<typeof ConnectorSpec>

const count = (description: string): z.ZodOptional<z.ZodInt> =>
  z.int().min(0).optional().describe(description)

const ReplicaStatus = z
  .object({
    name: z.string().max(100).describe('The instance name of the agent.'),
    replicaId: z.string().max(40).describe('The id of the replica.'),
    state: z.enum(['online', 'offline', 'revoked']).describe('Whether it has a session.'),
    version: z.string().max(100).describe('The version of the agent.'),
  })
  .describe('An agent that has enrolled.')

export const ConnectorStatus = z
  .object({
    observedGeneration,
    connectorId: z.string().max(40).optional().describe('The id of the connector in the relay.'),
    name: z.string().max(100).optional().describe('The name of the connector in the relay.'),
    provisionedAt: time('When a gateway took the connector over.'),
    enrolledAt: time('When the enrolment key was made.'),
    enrollmentVersion: z
      .string()
      .max(100)
      .optional()
      .describe('The uid and resourceVersion of the Secret whose key was last found good.'),
    replicas: count('Pods that exist.'),
    readyReplicas: count('Pods that are ready.'),
    connectedReplicas: count('Agents that have a session, by the relay’s word.'),
    selector: z.string().max(500).optional().describe('The labels of the pods, for autoscalers.'),
    replicaStatuses: z
      .array(ReplicaStatus)
      .max(REPLICAS_MAX)
      .optional()
      .meta({
        description: 'The agents that have enrolled.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      }),
    conditions,
  })
  .describe('The connector as the operator last saw it.')

export type ConnectorStatus = z.infer<typeof ConnectorStatus>

export const CONNECTOR = ownKind({
  kind: 'Connector',
  plural: 'connectors',
  shortNames: ['pcon'],
  description: 'A way from the relay to destinations in this cluster.',
  spec: ConnectorSpec,
  status: ConnectorStatus,
  columns: [
    READY_COLUMN,
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Connected', type: 'integer', jsonPath: '.status.connectedReplicas' },
    { name: 'Connector-Id', type: 'string', jsonPath: '.status.connectorId' },
    { name: 'Relay', type: 'string', jsonPath: '.spec.relayRef.name', priority: 1 },
    ...LAST_COLUMNS,
  ],
  selectable: ['.spec.relayRef.name', '.status.connectorId'],
  scale: { spec: '.spec.replicas', status: '.status.replicas', selector: '.status.selector' },
})
