import { z } from 'zod'

const Json = z.record(z.string(), z.unknown())

const Media = z.object({ schema: Json, example: z.unknown().optional() })
const Content = z.record(z.string(), Media)

const Parameter = z.object({
  name: z.string(),
  in: z.string(),
  required: z.boolean(),
  description: z.string().optional(),
  schema: Json,
  example: z.unknown().optional(),
})

const Response = z.object({ description: z.string(), content: Content.optional() })

const Operation = z.object({
  operationId: z.string(),
  tags: z.tuple([z.string()]),
  summary: z.string(),
  description: z.string(),
  parameters: z.array(Parameter),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(z.string(), Response),
  'x-codeSamples': z.array(z.object({ label: z.string(), source: z.string() })),
})

/** The parts of the OpenAPI document that the page shows. */
export const Document = z.object({
  info: z.object({ title: z.string(), description: z.string() }),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), Json) }),
})

export type Document = z.infer<typeof Document>
export type Parameter = z.infer<typeof Parameter>

/** An operation with the place that the document gives it. */
export interface Operation extends z.infer<typeof Operation> {
  method: string
  path: string
}

/** In the order of the document. */
export function operationsOf({ paths }: Document, tag: string): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags[0] === tag)
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

/** The one type of content that our requests and responses have. */
export function mediaOf(
  content: z.infer<typeof Content> | undefined,
): z.infer<typeof Media> | undefined {
  return Object.values(content ?? {})[0]
}
