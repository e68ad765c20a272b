import type { FastifyReply, FastifyRequest } from 'fastify'

import { codingsTaken, isKnown } from '../http/fixed.ts'
import type { BuiltFile, BuiltFiles } from './built-files.ts'

/** Below these the API answers for itself, also when it has no such route. */
const NOT_PAGES = /^\/(?:v1|auth|app\/api|mcp|capabilities|docs|metrics|assets)(?:[/?.]|$)/

/** The page may load, run and ask nothing but what comes from here, and stands in no frame. */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** The name of an asset changes with its content; the page itself is asked for each time. */
const FOR_EVER = 'public, max-age=31536000, immutable'
const ASK_AGAIN = 'no-cache'

/**
 * Answers a request to no route of the API with a file of the dashboard: an asset by its path, the page for every other
 * address that a browser opens. False when it is for neither.
 */
export function servePage(
  files: BuiltFiles | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): boolean {
  if (files === undefined || request.method !== 'GET') return false
  const path = request.url.replace(/[?#].*$/, '')
  const file = path === '/index.html' ? undefined : files.get(path)
  if (file !== undefined) {
    const isNamedByContent = path.startsWith('/assets/')
    send(file, request, reply.header('cache-control', isNamedByContent ? FOR_EVER : ASK_AGAIN))
    return true
  }
  const page = files.get('/index.html')
  const wantsPage = request.headers.accept?.includes('text/html') === true
  if (page === undefined || !wantsPage || NOT_PAGES.test(request.url)) return false
  send(page, request, reply.headers({ ...PAGE_HEADERS, 'cache-control': ASK_AGAIN }))
  return true
}

function send(file: BuiltFile, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers({
    'content-type': file.type,
    etag: file.etag,
    // The same address answers a program with JSON.
    vary: 'accept, accept-encoding',
    'x-content-type-options': 'nosniff',
  })
  const known = request.headers['if-none-match']
  if (known !== undefined && isKnown(known, file.etag)) {
    void reply.code(304).send()
    return
  }
  const taken = codingsTaken(request.headers['accept-encoding'])
  if (file.brotli !== undefined && taken('br')) {
    void reply.header('content-encoding', 'br').send(file.brotli)
  } else if (file.gzip !== undefined && taken('gzip')) {
    void reply.header('content-encoding', 'gzip').send(file.gzip)
  } else void reply.send(file.plain)
}
