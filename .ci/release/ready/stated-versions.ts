import { parse } from 'yaml'
import { z } from 'zod'

/** A place that names the version of Postern. */
export interface Stated {
  place: string
  version: string
}

const Package = z.object({ version: z.string() })
const Chart = z.object({
  version: z.string(),
  appVersion: z.string(),
  dependencies: z.array(z.object({ name: z.string(), version: z.string() })).default([]),
})
const Document = z.object({ info: z.object({ version: z.string() }) })

/** The versions that a file of the tree states; `path` says which kind of file it is. */
export function versionsIn(path: string, text: string): Stated[] {
  if (/package(?:-lock)?\.json$/.test(path)) {
    return [{ place: path, version: Package.parse(JSON.parse(text)).version }]
  }
  if (path.endsWith('Chart.yaml')) return ofChart(path, text)
  if (path.endsWith('openapi.json')) {
    return [
      { place: `${path} info.version`, version: Document.parse(JSON.parse(text)).info.version },
    ]
  }
  // An image by its name, in a document or a compose file.
  return [...text.matchAll(/\bpostern:(?:\$\{\w+:-)?(\d+\.\d+\.\d+[\w.-]*)/g)].map(
    ([image, version = '']) => ({ place: `${path} ${image}`, version }),
  )
}

/** A line for each place that names another version. */
export function otherVersions(version: string, stated: readonly Stated[]): string[] {
  return stated
    .filter((one) => one.version !== version)
    .map((one) => `${one.place} says ${one.version}, package.json ${version}`)
}

function ofChart(path: string, text: string): Stated[] {
  const { version, appVersion, dependencies } = Chart.parse(parse(text))
  return [
    { place: `${path} version`, version },
    { place: `${path} appVersion`, version: appVersion },
    ...dependencies.map((one) => ({ place: `${path} ${one.name}`, version: one.version })),
  ]
}
