import { z } from 'zod'

/** The group and version of our kinds. (decisions: Kubernetes) */
export const GROUP = 'postern.dev'
const VERSION = 'v1alpha1'
export const CATEGORY = 'postern'

/** Bounds of Kubernetes. */
const OBJECT_NAME_MAX = 253
const LABEL_NAME_MAX = 317
export const LABEL_VALUE_MAX = 63
const CONDITIONS_MAX = 8

/** A rule that the API server checks: an expression of CEL and the words of its refusal. */
export interface Rule {
  rule: string
  message: string
  fieldPath?: string
}

/** Members of a schema that only Kubernetes knows. */
export function rules(...list: Rule[]): { 'x-kubernetes-validations': Rule[] } {
  return { 'x-kubernetes-validations': list }
}

/** An address for HTTP, without credentials: every reader of the object would see them. */
export const httpUrl = z
  .string()
  .min(1)
  .max(2_048)
  .regex(/^https?:\/\//)
  .meta(
    rules(
      {
        rule: String.raw`self.matches(r'^https?://([^/?#@]*@)?[^/?#:@\s]')`,
        message: 'must have a host',
      },
      {
        rule: String.raw`!self.matches(r'^https?://[^/?#]*@')`,
        message: 'must have no user and no password: name them in auth',
      },
    ),
  )

/** Any object: what is in it the API of the relay checks. */
export function openObject(description: string): z.ZodType<Record<string, unknown>> {
  return z
    .record(z.string(), z.unknown())
    .meta({ description, 'x-kubernetes-preserve-unknown-fields': true })
}

export const objectName = z
  .string()
  .min(1)
  .max(OBJECT_NAME_MAX)
  .describe('The name of an object in the same namespace.')

export const SecretKeyRef = z
  .object({
    name: objectName.describe(
      'The name of a Secret in the same namespace, whose label `postern.dev/use` names the kind of this object in lower case.',
    ),
    key: z.string().min(1).max(OBJECT_NAME_MAX).describe('The key of the value in it.'),
  })
  .describe('A value of a Secret.')

export type SecretKeyRef = z.infer<typeof SecretKeyRef>

const RelayRef = z
  .object({ name: objectName.describe('The name of a Relay in the same namespace.') })
  .meta({
    description: 'The Relay that says where the API is. It never changes.',
    ...rules({ rule: 'self == oldSelf', message: 'relayRef never changes' }),
  })

export const displayName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^\S(.*\S)?$/)

/** Members that every declared kind has. */
export const declared = {
  relayRef: RelayRef,
  projectId: z
    .string()
    .regex(/^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    .optional()
    .describe('The project, where the API key is not bound to one. It never changes.'),
  suspend: z.boolean().default(false).describe('True leaves the object alone until it is deleted.'),
  deletionPolicy: z
    .enum(['Delete', 'Retain'])
    .default('Delete')
    .describe('Whether the relay’s resource goes with this object or stays.'),
}

export const metadata = z
  .record(z.string().max(100), z.string().max(500))
  .meta({ maxProperties: 40 })
  .default({})
  .describe('Your own texts, kept in the metadata of the resource.')

/** Optional members that never change: neither from one value to another nor between none and one. */
export function fixed(...members: string[]): Rule[] {
  return members.map((name) => ({
    rule: `has(self.${name}) == has(oldSelf.${name}) && (!has(self.${name}) || self.${name} == oldSelf.${name})`,
    message: `${name} never changes`,
  }))
}

const Condition = z.object({
  type: z.string().max(LABEL_NAME_MAX).describe('The kind of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  reason: z
    .string()
    .min(1)
    .max(1_024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('A word for programs.'),
  message: z.string().max(32_768).describe('A sentence for people.'),
  observedGeneration: z.int().min(0).describe('The generation of the object that it is about.'),
  lastTransitionTime: z
    .string()
    .meta({ format: 'date-time' })
    .describe('Since when the status is this.'),
})

export const conditions = z
  .array(Condition)
  .max(CONDITIONS_MAX)
  .default([])
  .meta({
    description: 'The state of the object: see docs/kubernetes/conditions.md.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  })

export const observedGeneration = z
  .int()
  .min(0)
  .optional()
  .describe('The generation that the status is about.')

export const time = (description: string): z.ZodOptional<z.ZodString> =>
  z.string().meta({ format: 'date-time' }).optional().describe(description)

/** `READY` and `AGE` stand in every table, the reason in the wide one. */
export const READY_COLUMN = {
  name: 'Ready',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
} as const
export const LAST_COLUMNS = [
  {
    name: 'Reason',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    priority: 1,
  },
  {
    name: 'Message',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].message',
    priority: 1,
  },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
] as const

interface Column {
  name: string
  type: string
  jsonPath: string
  priority?: number
}

/** A kind of ours: how Kubernetes names it, and the schemas by which the operator reads it. */
export interface OwnKind {
  group: string
  version: string
  kind: string
  plural: string
  shortNames: string[]
  description: string
  spec: z.ZodType
  status: z.ZodType
  columns: readonly Column[]
  selectable: readonly string[]
  scale?: { spec: string; status: string; selector: string }
}

export function ownKind(kind: Omit<OwnKind, 'group' | 'version'>): OwnKind {
  return { group: GROUP, version: VERSION, ...kind }
}
