import createClient from 'openapi-fetch'

import { Refusal } from './refusal.ts'
import type { components, paths } from './schema.d.ts'

export type Schemas = components['schemas']

/** The routes of `/v1`, as a session reaches them below `/app/api/{projectId}`. */
type ProjectPaths = {
  [Path in keyof paths as Path extends `/v1${infer Rest}` ? Rest : never]: paths[Path]
}

export type Api = ReturnType<typeof openApi>

export function openApi(projectId: string) {
  const client = createClient<ProjectPaths>({ baseUrl: `/app/api/${projectId}` })
  client.use({
    onRequest({ request }) {
      // The server takes a write from a browser only as JSON, also without a body.
      if (request.method !== 'GET') request.headers.set('content-type', 'application/json')
      return request
    },
  })
  return client
}

interface Called<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The body of a success. Throws a `Refusal` for everything else. */
export async function read<T>(called: Promise<Called<T>>): Promise<T> {
  const { data, error, response } = await called.catch((cause: unknown) => {
    throw Refusal.offline(cause)
  })
  if (!response.ok) throw Refusal.of(response, error)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a success without a body has the type undefined
  return data as T
}
