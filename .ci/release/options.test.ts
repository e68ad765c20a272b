import { expect, test } from 'vitest'

import { readOptions } from './options.ts'

test('without words a release is no rehearsal and has an image', () => {
  expect(readOptions([])).toEqual({ isRehearsal: false, hasImage: true })
  expect(readOptions(['--without-image', '--rehearse'])).toEqual({
    isRehearsal: true,
    hasImage: false,
  })
})

test('an unknown word is refused, and the known ones are named', () => {
  expect(() => readOptions(['--dry-run'])).toThrow(
    'Unknown option --dry-run. There are --rehearse and --without-image',
  )
})
