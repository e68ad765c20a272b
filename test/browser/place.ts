import { z } from 'zod'

import type { Told } from './told.ts'

const Id = z.object({ id: z.string() })
const Source = Id.extend({ ingestUrl: z.string() })

/** A project of its own for a journey, filled over the API. */
export interface Place {
  projectId: string
  /** The address of a page of the project. */
  at: (path?: string) => string
  source: (name: string, members?: object) => Promise<z.infer<typeof Source>>
  destination: (name: string, url: string, members?: object) => Promise<string>
  connection: (sourceId: string, destinationId: string, members?: object) => Promise<string>
  /** The id of the event. */
  send: (ingestUrl: string, body: object, headers?: Record<string, string>) => Promise<string>
  call: (method: string, path: string, body?: object) => Promise<unknown>
}

let count = 0

export async function openPlace({ apiUrl, apiKey }: Told): Promise<Place> {
  const call = async (method: string, path: string, body?: object, projectId?: string) => {
    const answer = await fetch(`${apiUrl}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        ...(projectId === undefined ? {} : { 'x-project-id': projectId }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  const name = `journey ${process.pid} ${++count} ${Date.now()}`
  const projectId = Id.parse(await call('POST', '/projects', { name })).id
  const inProject = async (method: string, path: string, body?: object) =>
    await call(method, path, body, projectId)
  const make = async (path: string, body: object) => await inProject('POST', path, body)
  return {
    projectId,
    at: (path = '') => `${apiUrl}/p/${projectId}${path}`,
    call: inProject,
    source: async (named, members = {}) =>
      Source.parse(
        await make('/sources', { name: named, eventTypeField: 'body.type', ...members }),
      ),
    destination: async (named, url, members = {}) =>
      Id.parse(await make('/destinations', { name: named, url, ...members })).id,
    connection: async (sourceId, destinationId, members = {}) =>
      Id.parse(
        await make('/connections', { name: `con ${++count}`, sourceId, destinationId, ...members }),
      ).id,
    async send(ingestUrl, body, headers = {}) {
      const answer = await fetch(ingestUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      const text = await answer.text()
      // A source with a verifier refuses what is not signed, and stores it all the same.
      if (!answer.ok && answer.status !== 401) throw new Error(`${answer.status} ${text}`)
      const said: { eventId?: string; data?: { eventId?: string } } = JSON.parse(text)
      return said.eventId ?? said.data?.eventId ?? ''
    },
  }
}
