import { z } from 'zod'

/** The answer of a source to a stored event. (decisions: Resources, `ingestResponse`) */
export const IngestResponse = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('default') }),
  z.object({ kind: z.literal('empty'), status: z.literal([200, 204]).optional() }),
  z.object({
    kind: z.literal('static'),
    body: z.string().optional(),
    contentType: z.string().optional(),
  }),
])

export type IngestResponse = z.infer<typeof IngestResponse>
