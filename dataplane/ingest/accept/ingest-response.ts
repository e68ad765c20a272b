import { z } from 'zod'

/** What a source says to a stored event. (decisions: Resources, `ingestResponse`) */
export const IngestResponse = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('default') }),
  z.object({ kind: z.literal('empty') }),
  z.object({
    kind: z.literal('static'),
    body: z.string().optional(),
    contentType: z.string().optional(),
  }),
])

export type IngestResponse = z.infer<typeof IngestResponse>
