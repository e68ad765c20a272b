import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'

import { codingsTaken, isKnown } from '../http/fixed.ts'

const BUILT = fileURLToPath(new URL('../../docs/site/dist/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

interface SiteFile {
  path: string
  type: string
  etag: string
  /** Under which codings the build has written it too. */
  codings: ReadonlyMap<string, string>
}

/** The documentation site as it was built: its files by their address, and the policy under which its pages run. */
export interface Site {
  files: ReadonlyMap<string, SiteFile>
  policy: string
}

const Scripts = z.array(z.string().regex(/^sha256-[A-Za-z0-9+/]+=*$/))

/** Undefined when the site is not built. It is large and seldom read, so that its files stay on the disk. */
export function findSite(directory = BUILT): Site | undefined {
  if (!existsSync(join(directory, 'index.html'))) return undefined
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const known = new Set(names)
  const files = new Map<string, SiteFile>()
  for (const name of names) {
    const path = join(directory, name)
    const { mtimeMs, size } = statSync(path)
    const ending = extname(name)
    if (ending === '' || ending === '.br' || ending === '.gz') continue
    const codings = CODINGS.filter(([, suffix]) => known.has(`${name}${suffix}`))
    const file = {
      path,
      type: TYPES[ending] ?? 'application/octet-stream',
      etag: `W/"${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}"`,
      codings: new Map(codings.map(([coding, suffix]) => [coding, `${path}${suffix}`])),
    }
    const address = `/docs/${name.replaceAll('\\', '/')}`
    files.set(address, file)
    if (ending === '.html') files.set(pageAddress(address), file)
  }
  const scripts = Scripts.parse(JSON.parse(readFileSync(join(directory, 'scripts.json'), 'utf8')))
  return { files, policy: policyOf(scripts) }
}

/** A page is there without the ending of its file too. */
function pageAddress(address: string): string {
  return address.replace(/(?:\/index)?\.html$/, '')
}

/** Pages run their own scripts, told by their hashes, and search with WebAssembly. They ask nobody else. */
function policyOf(scripts: readonly string[]): string {
  return [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval' ${scripts.map((script) => `'${script}'`).join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Answers with a file of the site, or with its page for addresses that it does not have. */
export async function serveSite(
  { files, policy }: Site,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const address = request.url.replace(/[?#].*$/, '').replace(/\/$/, '')
  const file = files.get(decoded(address)) ?? files.get('/docs/404')
  if (file === undefined) return await reply.code(404).send()
  void reply.code(address === '/docs/404' || files.has(decoded(address)) ? 200 : 404).headers({
    'content-type': file.type,
    'content-security-policy': policy,
    etag: file.etag,
    vary: 'accept-encoding',
    'cache-control': address.startsWith('/docs/_astro/')
      ? 'public, max-age=31536000, immutable'
      : 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  const held = request.headers['if-none-match']
  if (held !== undefined && isKnown(held, file.etag)) return await reply.code(304).send()
  const taken = codingsTaken(request.headers['accept-encoding'])
  for (const [coding, path] of file.codings) {
    if (!taken(coding)) continue
    return await reply.header('content-encoding', coding).send(await readFile(path))
  }
  return await reply.send(await readFile(file.path))
}

function decoded(address: string): string {
  try {
    return decodeURIComponent(address)
  } catch {
    return address
  }
}
