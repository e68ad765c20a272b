import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { parseAllDocuments } from 'yaml'
import { z } from 'zod'

const run = promisify(execFile)

/** Helm with the charts of this tree; its files go with it. */
export interface Charts extends AsyncDisposable {
  /** A directory of its own. */
  scratch: string
  /** The standard output of Helm. */
  helm(...args: string[]): Promise<string>
  /** The objects of a release with these values. */
  render(chart: string, values: object, place?: Place): Promise<Rendered[]>
  /** The standard error of a release that Helm refuses, else an empty text. */
  refusal(chart: string, values: object): Promise<string>
}

interface Place {
  release?: string
  namespace?: string
}

/** The namespace of releases that name none. */
export const NAMESPACE = 'charts'

/** An object of Kubernetes, as far as tests of charts read it. */
const Rendered = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})
export type Rendered = z.infer<typeof Rendered>

export async function openCharts(): Promise<Charts> {
  const scratch = await mkdtemp(join(tmpdir(), 'postern-charts-'))
  const helmPath = (await run('test/cluster/helm.sh')).stdout.trim()
  const helm = async (...args: string[]): Promise<string> =>
    (await run(helmPath, args, { maxBuffer: 64 * 1024 * 1024 })).stdout
  const render: Charts['render'] = async (chart, values, place = {}) => {
    const { release = 'r', namespace = NAMESPACE } = place
    const file = join(await mkdtemp(join(scratch, 'values-')), 'values.json')
    await writeFile(file, JSON.stringify(values))
    const text = await helm('template', release, `charts/${chart}`, '-n', namespace, '-f', file)
    return parseAllDocuments(text)
      .map((document): unknown => document.toJS())
      .filter((one) => one !== null)
      .map((one) => Rendered.parse(one))
  }
  return {
    scratch,
    helm,
    render,
    async refusal(chart, values) {
      try {
        await render(chart, values)
        return ''
      } catch (error) {
        return z.object({ stderr: z.string() }).parse(error).stderr
      }
    },
    async [Symbol.asyncDispose]() {
      await rm(scratch, { recursive: true, force: true })
    },
  }
}

const SECRET = { existingSecret: { name: 'postern' } }
const IMAGE = { repository: 'registry.test/postern' }

/** Values that the chart demands. */
export const LEAST = { image: IMAGE, encryptionKey: SECRET, database: SECRET, nats: SECRET }
