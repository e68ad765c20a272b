import {
  all,
  openPostern,
  type Postern,
  type StreamMessage,
} from '../../../clients/typescript/index.ts'
import type { components } from '../../../clients/typescript/schema.d.ts'
import { reach } from './reach.ts'

export { all, type StreamMessage }

export type Schemas = components['schemas']
export type Api = Postern

/** The operations of `/v1`, as a session reaches them below `/app/api/{projectId}`. */
export function openApi(projectId: string): Api {
  return openPostern({
    url: '',
    basePath: `/app/api/${projectId}`,
    // Queries are repeated by who asks them.
    retries: 0,
    fetch: async (url, { headers, ...init }) =>
      // The server takes a write from a browser only as JSON, also without a body.
      await reach(url, {
        ...init,
        headers: {
          ...headers,
          ...(init.method !== 'GET' && { 'content-type': 'application/json' }),
        },
      }),
  })
}
