import { Agent, fetch } from 'undici'
import { z } from 'zod'

import { plainText } from '../core/this-machine/plain-text.ts'
import { startOf, type Print } from './processes/os-process.ts'

/** In the metadata of what a demo makes, with the process it belongs to. */
const MARK = 'postern-demo'
const TIMEOUT_MS = 5_000

/** Connections go with the destination that they use. */
const REMOVED = ['destinations', 'sources'] as const

const Made = z.object({ id: z.string(), ingestUrl: z.string().optional() })
const Listed = z.object({
  data: z.array(
    z.object({ id: z.string(), metadata: z.record(z.string(), z.string()).nullable() }),
  ),
  nextCursor: z.string().nullable(),
})

export interface DemoOptions {
  apiUrl: string
  apiKey: string
  print: Print
}

/** The resources of the demo; disposing removes them. */
export interface DemoObjects extends AsyncDisposable {
  create(resource: string, body: object): Promise<z.infer<typeof Made>>
  /** Removes what demos left behind that were killed. */
  removeLeftovers(): Promise<void>
}

export function openDemoObjects({ apiUrl, apiKey, print }: DemoOptions): DemoObjects {
  const owner = ownerText(process.pid)
  const name = `demo ${new Date().toISOString()}`
  const call = caller(apiUrl, apiKey)
  const remove = async (isOurs: (mark: string) => boolean): Promise<number> => {
    let count = 0
    for (const resource of REMOVED) {
      for (const { id, metadata } of await listAll(call, resource)) {
        const mark = metadata?.[MARK]
        if (mark === undefined || !isOurs(mark)) continue
        await call(
          'DELETE',
          `${resource}/${id}${resource === 'destinations' ? '?cascade=true' : ''}`,
        )
        count++
      }
    }
    return count
  }
  return {
    create: async (resource, body) =>
      Made.parse(await call('POST', resource, { name, metadata: { [MARK]: owner }, ...body })),
    removeLeftovers: async () => {
      const count = await remove((mark) => mark !== ownerText(Number.parseInt(mark, 10)))
      if (count > 0) print('Removed what an earlier demo left behind')
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await remove((mark) => mark === owner)
        print('Removed what the demo made')
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        print(plainText(`Cannot remove what the demo made, which the next demo does: ${reason}`))
      }
    },
  }
}

/** A process in words that the next one with its pid does not have. */
function ownerText(pid: number): string {
  return `${pid} ${startOf(pid)}`
}

type Call = (method: string, path: string, body?: object) => Promise<unknown>

/** With connections of its own: the relay is beside us, whatever HTTP_PROXY says. */
function caller(apiUrl: string, apiKey: string): Call {
  const dispatcher = new Agent({ keepAliveTimeout: 1 })
  return async (method, path, body) => {
    const response = await fetch(`${apiUrl}/v1/${path}`, {
      method,
      dispatcher,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: unknown) => {
      throw new Error(`the relay does not answer at ${apiUrl}`, { cause })
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} /v1/${path} was refused: ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}

async function listAll(call: Call, resource: string): Promise<z.infer<typeof Listed>['data']> {
  const all: z.infer<typeof Listed>['data'] = []
  let cursor: string | null = null
  do {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = Listed.parse(await call('GET', `${resource}?limit=100${after}`))
    all.push(...page.data)
    cursor = page.nextCursor
  } while (cursor !== null)
  return all
}
