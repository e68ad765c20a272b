import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'

import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { buildApp } from '../../api/app.ts'
import { readBuiltFiles } from '../../api/dashboard/built-files.ts'
import { startWorld } from '../kit/world.ts'

const PAGE = '<!doctype html><title>Postern</title>'
const SCRIPT = 'export const one = 1'
const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const directory = mkdtempSync(join(tmpdir(), 'postern-dashboard-'))
const stack = new AsyncDisposableStack()
let app: FastifyInstance
let bare: FastifyInstance

beforeAll(async () => {
  mkdirSync(join(directory, 'assets'))
  for (const [name, text] of [
    ['index.html', PAGE],
    ['assets/main-1a2b.js', SCRIPT],
  ] as const) {
    writeFileSync(join(directory, name), text)
    writeFileSync(join(directory, `${name}.br`), brotliCompressSync(text))
    writeFileSync(join(directory, `${name}.gz`), gzipSync(text))
  }
  writeFileSync(join(directory, 'source.txt'), 'a mark')
  const { deps } = stack.use(await startWorld())
  const dashboard = readBuiltFiles(directory)
  app = stack.use(buildApp({ ...deps, registry: new Registry(), dashboard }))
  bare = stack.use(buildApp({ ...deps, registry: new Registry(), dashboard: undefined }))
})

afterAll(async () => {
  await stack.disposeAsync()
  rmSync(directory, { recursive: true, force: true })
})

test.for(['/', '/p/prj_1/events?status=rejected', '/sign-in', '/setup', '/org/org_1/keys'])(
  'a browser that opens %s gets the page, which may load and ask nothing from elsewhere',
  async (url) => {
    const answer = await app.inject({ url, headers: HTML })
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toBe(PAGE)
    const policy = String(answer.headers['content-security-policy'])
    expect(policy).toContain("default-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toContain('unsafe')
    expect(answer.headers['cache-control']).toBe('no-cache')
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
  },
)

test('an asset is named by its content, so that it may be kept for ever', async () => {
  const answer = await app.inject({ url: '/assets/main-1a2b.js' })
  expect(answer.body).toBe(SCRIPT)
  expect(answer.headers['content-type']).toBe('text/javascript; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable')
})

test('a file goes out as the build has compressed it, to those who take that', async () => {
  const url = '/assets/main-1a2b.js'
  const brotli = await app.inject({ url, headers: { 'accept-encoding': 'gzip, deflate, br' } })
  expect(brotli.headers['content-encoding']).toBe('br')
  expect(brotliDecompressSync(brotli.rawPayload).toString()).toBe(SCRIPT)
  const gzip = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br;q=0' } })
  expect(gzip.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(gzip.rawPayload).toString()).toBe(SCRIPT)
  expect(gzip.headers.vary).toBe('accept, accept-encoding')
})

test('a page that a browser has is not sent again', async () => {
  const first = await app.inject({ url: '/', headers: HTML })
  const headers = { ...HTML, 'if-none-match': String(first.headers.etag) }
  const again = await app.inject({ url: '/', headers })
  expect(again.statusCode).toBe(304)
  expect(again.body).toBe('')
})

test.for([
  '/v1/nothing',
  '/v1',
  '/auth/nothing',
  '/app/api/prj_1/nothing',
  '/mcp',
  '/capabilities/nothing',
  '/docs/nothing',
  '/assets/gone-1a2b.js',
])('%s is no page: a browser is refused as a program is', async (url) => {
  const answer = await app.inject({ url, headers: HTML })
  expect(answer.statusCode).not.toBe(200)
  expect(answer.headers['content-type']).toContain('application/json')
})

test.for(['/p/prj_1', '/assets/../index.html', '/assets/..%2findex.html', '/source.txt'])(
  'a program that asks for %s is refused',
  async (url) => {
    const answer = await app.inject({ url, headers: { accept: '*/*' } })
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toMatchObject({ code: 'NOT_FOUND' })
  },
)

test('a program that knows the address alone is told where to go on', async () => {
  const answer = await app.inject({ url: '/', headers: { accept: '*/*' } })
  expect(answer.json()).toMatchObject({ api: '/v1' })
  expect(answer.headers.vary).toContain('accept,')
})

test('only reading leads to the page', async () => {
  const answer = await app.inject({ method: 'POST', url: '/', headers: HTML })
  expect(answer.statusCode).toBe(404)
})

test('without a build there is no page, and the API is as it was', async () => {
  expect((await bare.inject({ url: '/', headers: HTML })).json()).toMatchObject({ api: '/v1' })
  expect((await bare.inject({ url: '/sign-in', headers: HTML })).statusCode).toBe(404)
  expect((await bare.inject({ url: '/openapi.json' })).statusCode).toBe(200)
})
