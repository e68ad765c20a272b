import { expect, test } from 'vitest'

import { unfoldFlowed } from './flowed-text.ts'

test.for([
  ['a \nb\nc', false, 'a b\nc'],
  ['a \nb\nc\n', true, 'ab\nc\n'],
  [' stuffed\n >no quote\n  x', false, 'stuffed\n>no quote\n x'],
  ['> a \n> b\nc', false, '> a b\nc'],
  ['>> a \n> b \nc', false, '>> a \n> b \nc'],
  ['a \n-- \nAnn', false, 'a \n-- \nAnn'],
  ['a \n', false, 'a '],
  ['', false, ''],
] as const)('%j', ([text, delSp, unfolded]) => {
  expect(unfoldFlowed(text, delSp)).toBe(unfolded)
})
