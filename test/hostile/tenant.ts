import { request } from 'undici'
import { z } from 'zod'

import { runAdmin } from '../kit/program.ts'

const Made = z.object({ id: z.string() })
const MadeKey = z.object({ key: z.string() })
const MadeSource = Made.extend({ ingestUrl: z.string(), ingestAddress: z.string().nullable() })

/** Where an organisation of its own reaches the relay, and its key. */
export interface Credentials {
  apiUrl: string
  key: string
}

/** Makes an organisation beside those that the relay has. */
export async function makeOrganisation(
  { dataDir, apiUrl }: { dataDir: string; apiUrl: string },
  name: string,
): Promise<Credentials> {
  const admin = async (words: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await runAdmin(words, { DATA_DIR: dataDir })
    if (code !== 0) throw new Error(`admin ${words.join(' ')}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const { id } = Made.parse(await admin(['organisations', 'create', '--name', name]))
  const permissions = [
    'sources=write',
    'destinations=write',
    'connections=write',
    'events=write',
    'deliveries=write',
  ].flatMap((permission) => ['--permission', permission])
  const words = ['keys', 'create', '--name', name, '--organisation', id, ...permissions]
  return { apiUrl, key: MadeKey.parse(await admin(words)).key }
}

/** An organisation that means harm, by its own key. */
export class Tenant {
  readonly #credentials: Credentials
  #made = 0

  constructor(credentials: Credentials) {
    this.#credentials = credentials
  }

  get apiUrl(): string {
    return this.#credentials.apiUrl
  }

  get authorization(): string {
    return `Bearer ${this.#credentials.key}`
  }

  /** The status of any answer, which is read to its end and forgotten. */
  async ask(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<number> {
    const answer = await this.#send(method, path, body, headers)
    await answer.body.dump({ limit: Infinity })
    return answer.statusCode
  }

  async makeSource(more: object = {}): Promise<z.infer<typeof MadeSource>> {
    const body = { name: this.#name(), verifier: { type: 'none' }, maxPayloadSizeKb: 5_120 }
    return MadeSource.parse(await this.#make('/v1/sources', { ...body, ...more }))
  }

  async makeDestination(url: string, more: object = {}): Promise<string> {
    const body = { name: this.#name(), url, ...more }
    return Made.parse(await this.#make('/v1/destinations', body)).id
  }

  async connect(sourceId: string, destinationId: string, filter?: unknown): Promise<void> {
    const body = { name: this.#name(), sourceId, destinationId }
    await this.#make('/v1/connections', filter === undefined ? body : { ...body, filter })
  }

  /** A source whose events go to these addresses; its ingest URL. */
  async makeRoute(urls: readonly string[], destination: object = {}): Promise<string> {
    const { id, ingestUrl } = await this.makeSource()
    for (const url of urls) await this.connect(id, await this.makeDestination(url, destination))
    return ingestUrl
  }

  #name(): string {
    return `hostile ${++this.#made} ${Math.random().toString(36).slice(2)}`
  }

  async #make(path: string, body: unknown): Promise<unknown> {
    const answer = await this.#send('POST', path, body)
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`)
    return JSON.parse(text)
  }

  async #send(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    return await request(`${this.apiUrl}${path}`, {
      method,
      headers: {
        authorization: this.authorization,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }
}
