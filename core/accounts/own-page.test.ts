import { expect, test } from 'vitest'

import { ownPage } from './own-page.ts'

const ORIGIN = 'https://relay.example'

const OWN: readonly (readonly [string, string?])[] = [
  ['/'],
  ['/me'],
  ['/p/prj_1/events?status=rejected&q=a%20b#top'],
  ['/p/prj_1?next=//evil.example'],
  ['/p/prj_1#//evil.example'],
  ['/a//b'],
  ['/a/../b', '/b'],
  ['/%2e%2e/b', '/b'],
  ['/%09/evil.example'],
  ['/%0a/evil.example'],
  ['/%5cevil.example'],
  ['/%2f/evil.example'],
  ['/..%2F%09/evil.example'],
  ['/@evil.example'],
  ['/:80'],
  ['/https://evil.example'],
  ['/javascript:alert(1)'],
  ['/?\u00FC', '/?%C3%BC'],
  ['/\uFF0F/evil.example', '/%EF%BC%8F/evil.example'],
  ['/\u2028/evil.example', '/%E2%80%A8/evil.example'],
]

const ELSEWHERE = [
  '',
  ' ',
  'me',
  '.',
  '..',
  '?x',
  '#x',
  ' /me',
  '//evil.example',
  '///evil.example',
  '////evil.example',
  '//evil.example/%2e%2e',
  '//user@evil.example',
  '//user:pass@evil.example/me',
  '//[::1]/',
  '//0x7f.1',
  '//%65vil.example',
  '//\uFF45vil.example',
  '/\\evil.example',
  '/\\/evil.example',
  '/\\\\evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  '/me\\..\\..\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r/evil.example',
  '/\r\n/evil.example',
  '/\t\\evil.example',
  '/\r\\evil.example',
  '\t//evil.example',
  '/\t\t/\tevil.example',
  '/\u0000/evil.example',
  '/\u000B/evil.example',
  '/\u001F/evil.example',
  '/\u007F/evil.example',
  '/\u0085/evil.example',
  '/me\nset-cookie: a=b',
  '/.//evil.example',
  '/..//evil.example',
  '/./..//evil.example',
  '/a/..//evil.example',
  '/a/b/../..//evil.example',
  '/%2e//evil.example',
  '/%2E//evil.example',
  '/%2e%2e//evil.example',
  '/%2E%2E//evil.example',
  '/.%2e//evil.example',
  '/%2e.//evil.example',
  '/..\t//evil.example',
  '/../\t/evil.example',
  '/.\t/evil.example/..//x',
  '/%2e%2e/%2e%2e//evil.example',
  '/%2e//user@evil.example',
  '/.///evil.example',
  '/..///evil.example',
  'http://evil.example',
  'https://evil.example/me',
  'https:evil.example',
  'https:/evil.example',
  'https:/\\evil.example',
  'hTTps://evil.example',
  'javascript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,x',
  'blob:https://relay.example/x',
  `${ORIGIN}/me`,
  `${ORIGIN}@evil.example`,
  `/${'a'.repeat(1_000)}`,
  `/${'\u00FC'.repeat(400)}`,
]

test.for(OWN)('ownPage() takes %j', ([text, page = text]) => {
  expect(ownPage(text)).toBe(page)
  expect(new URL(page, ORIGIN).origin).toBe(ORIGIN)
})

test.for(ELSEWHERE)('ownPage() refuses %j', (text) => {
  expect(ownPage(text)).toBeUndefined()
})

test('ownPage() returns a page of the same origin or nothing, whatever it is given', () => {
  const parts = '/ \\ . .. %2e %2F %5c \t @ : ? # evil.example'.split(' ')
  const texts = parts.flatMap((one) =>
    parts.flatMap((two) =>
      parts.flatMap((three) => parts.map((four) => `/${one}${two}${three}${four}`)),
    ),
  )
  const pages = texts.flatMap((text) => ownPage(text) ?? [])
  expect(pages.length).toBeGreaterThan(1_000)
  const isOwn = (page: string): boolean =>
    /^\/(?!\/)[!-~]*$/.test(page) && URL.parse(page, ORIGIN)?.origin === ORIGIN
  expect(pages.filter((page) => !isOwn(page))).toEqual([])
})
