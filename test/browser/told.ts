import { z } from 'zod'

/** The parts of standalone.json that journeys need. */
export const Told = z.object({
  apiUrl: z.string(),
  setupUrl: z.string().nullable(),
  organisationId: z.string(),
  projectId: z.string(),
  apiKey: z.string(),
  databaseUrl: z.string(),
  smtpPort: z.int().optional(),
})
export type Told = z.infer<typeof Told>
