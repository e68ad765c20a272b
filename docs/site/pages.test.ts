import { existsSync, readdirSync, readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { pageOf, PAGES, SETTINGS, settingsPage } from './pages.ts'

const DOCS = new URL('../', import.meta.url)
const README = readFileSync(new URL('../README.md', DOCS), 'utf8')

test('the sidebar has every page of docs/ once, and the settings', () => {
  const files = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('site/'))
    .map((name) => name.slice(0, -3))
  expect(PAGES.toSorted()).toEqual([...files, SETTINGS].toSorted())
})

test('the page of the settings is that section of the README', () => {
  const page = settingsPage(README)
  expect(page).toMatch(/^# Settings\n\nSettings are environment variables/)
  expect(page).toContain('| `DATABASE_URL` ')
  expect(page).toContain('`OTEL_EXPORTER_OTLP_ENDPOINT`')
  expect(page).toContain('](spool.md)')
  expect(page).toContain('\n## Where NATS comes from\n')
  expect(page).not.toContain('## Working on it')
  const links = [...page.matchAll(/\]\(([^)\s#]+)/g)].map(([, to = '']) => to)
  expect(links.filter((to) => !existsSync(new URL(to, DOCS)))).toEqual([])
})

test('the title of a page leaves its text, and its links lead to the site', () => {
  const pages = new Set(['limits', 'kubernetes/install'])
  const text =
    '# How it *is*\n\nSee [limits](../limits.md#ours), [code](../../core/a.ts), [web](https://x.test), [here](#a), [all](../../README.md#settings). ![A drawing](drawing.svg)\n'
  expect(pageOf(text, { path: 'kubernetes/install', pages })).toEqual({
    title: 'How it *is*',
    body: 'See [limits](/docs/limits#ours), code, [web](https://x.test), [here](#a), [all](/docs/settings). ![A drawing](/docs/drawing.svg)\n',
  })
})

test.each(PAGES.filter((page) => page !== SETTINGS))(
  'docs/%s.md has a title and links to files that are there',
  (page) => {
    const file = new URL(`${page}.md`, DOCS)
    const text = readFileSync(file, 'utf8')
    expect(text).toMatch(/^# .+\n/)
    const links = [...text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to)
    const ours = links.filter((to) => !/^[a-z]+:/.test(to) && !to.startsWith('/'))
    expect(ours.filter((to) => !existsSync(new URL(to, file)))).toEqual([])
  },
)

test.each(['../README', ...PAGES.filter((page) => page !== SETTINGS)])(
  'each curl command of docs/%s.md is run by test/openapi/commands.test.ts',
  (page) => {
    const text = readFileSync(new URL(`${page}.md`, DOCS), 'utf8')
    const blocks = [...text.matchAll(/^ *```sh(| run)\n(.*?)^ *```/gms)]
    const idle = blocks.filter(([, run, code = '']) => run === '' && /\bcurl\b/.test(code))
    expect(idle.map(([block]) => block)).toEqual([])
  },
)
