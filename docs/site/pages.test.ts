import { existsSync, readdirSync, readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { pageOf, SECTIONS } from './pages.ts'

const DOCS = new URL('../', import.meta.url)
const LISTED = SECTIONS.flatMap(({ pages }) => pages)

test('the sidebar has every page of docs/ once', () => {
  const files = ['', 'kubernetes/'].flatMap((folder) =>
    readdirSync(new URL(folder, DOCS))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}${name.slice(0, -3)}`),
  )
  expect([...LISTED].toSorted()).toEqual(files.toSorted())
})

test('the title of a page leaves its text, and its links lead to the site', () => {
  const pages = new Set(['limits', 'kubernetes/install'])
  const text =
    '# How it *is*\n\nSee [limits](../limits.md#ours), [code](../../core/a.ts), [web](https://x.test), [here](#a).\n'
  expect(pageOf(text, { path: 'kubernetes/install', pages })).toEqual({
    title: 'How it *is*',
    body: 'See [limits](/docs/limits#ours), code, [web](https://x.test), [here](#a).\n',
  })
})

test.each(LISTED)('docs/%s.md has a title and links to files that are there', (page) => {
  const file = new URL(`${page}.md`, DOCS)
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(/^# .+\n/)
  const links = [...text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to)
  const ours = links.filter((to) => !/^[a-z]+:/.test(to) && !to.startsWith('/'))
  expect(ours.filter((to) => !existsSync(new URL(to, file)))).toEqual([])
})
