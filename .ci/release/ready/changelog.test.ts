import { expect, test } from 'vitest'

import { changesOf } from './changelog.ts'

const TEXT = `# Changelog

## [Unreleased]

## [0.2.0] - 2026-12-01

### Ingest

- Two.

## [0.1.0]

- One.
`

test('the changes of a version are the text under its heading', () => {
  expect(changesOf(TEXT, '0.2.0')).toBe('### Ingest\n\n- Two.')
  expect(changesOf(TEXT, '0.1.0')).toBe('- One.')
})

test('a version without a heading, or with nothing under it, has none', () => {
  expect(changesOf(TEXT, '0.1')).toBeUndefined()
  expect(changesOf(TEXT, '0.3.0')).toBeUndefined()
  expect(changesOf(TEXT, 'Unreleased')).toBeUndefined()
})
