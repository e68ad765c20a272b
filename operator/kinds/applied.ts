import { z } from 'zod'

/** How the operator knows that nothing has changed since it wrote a resource, without writing it again. */
export const applied = z
  .object({
    hash: z
      .string()
      .max(64)
      .describe('A hash of what was written. The version of a Secret stands for its value.'),
    updatedAt: z.string().max(30).describe('When the relay last changed the resource by our hand.'),
  })
  .optional()
  .describe('The last write to the relay.')
