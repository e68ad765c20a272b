import { createHash } from 'node:crypto'

import { expect, test } from 'vitest'

import { STATUS } from '../../core/errors.ts'
import { errorsOf } from '../http/route.ts'
import { openApiDocument, openApiRoute } from '../openapi/document.ts'
import { ROUTES } from '../routes.ts'
import { html } from './html.ts'
import { docsPage, PAGE_HEADERS } from './page.ts'

const routes = [...ROUTES, openApiRoute(() => ({}))]
const page = docsPage(openApiDocument(routes))

/** The part of the page about one operation. */
function articleOf(operationId: string): string {
  const [, rest = ''] = page.split(`<article class="operation" id="${operationId}">`)
  return rest.split('</article>')[0] ?? ''
}

test.for(routes.map((route) => [route.operationId, route] as const))(
  'the page shows %s with its path, permission, request, parameters and codes',
  ([operationId, route]) => {
    const article = articleOf(operationId)
    expect(article).toContain(route.method)
    expect(article).toContain(`/v1${route.path.replaceAll(/:(\w+)/g, '{$1}')}`)
    expect(article).toMatch(/Needs |Any API key may call this/)
    for (const label of ['curl', 'TypeScript', 'Python', 'Go']) {
      expect(article).toContain(`<summary>${label}</summary>`)
    }
    expect(page).toContain(`href="#${operationId}"`)
    for (const name of [...Object.keys(route.query?.shape ?? {}), ...Object.keys(route.params)]) {
      expect(article).toContain(`<code>${name}</code>`)
    }
    for (const code of errorsOf(route)) {
      expect(article).toContain(code)
      expect(article).toContain(`<code>${STATUS[code]}</code>`)
    }
  },
)

test('the page loads nothing, runs nothing, and its policy lets its one style in', () => {
  expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\son\w+=|\sstyle=/i)
  const [, style = ''] = /<style>([^]*?)<\/style>/.exec(page) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  const policy = PAGE_HEADERS['content-security-policy']
  expect(policy).toContain(`default-src 'none'; style-src 'sha256-${hash}'`)
  expect(policy).not.toContain('unsafe')
  expect(page).toContain('name="viewport"')
  expect(style).toContain('prefers-color-scheme: dark')
})

test('every element that is opened is closed', () => {
  const open: string[] = []
  for (const [, end, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*?>/g)) {
    if (name === 'meta') continue
    // A closing tag that does not match the last opened one stays on the pile.
    if (end !== '' && open.at(-1) === name) open.pop()
    else open.push(`${end}${name}`)
  }
  expect(open).toEqual([])
})

test('html() escapes what it is given and keeps what is HTML', () => {
  const inner = html`<b>${'<i>"&\''}</b>`
  expect(html`${inner}${undefined}${[1, '<']}`.text).toBe('<b>&#60;i&#62;&#34;&#38;&#39;</b>1&#60;')
})
