import { expect, test, vi } from 'vitest'

import { openAgentLog } from './agent-log.ts'

test('openAgentLog() writes no control character of a relay to a terminal, and one line an entry', () => {
  const lines: string[] = []
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => {
    lines.push(String(line))
    return true
  })
  try {
    openAgentLog('info', true).warn(
      'Refused: \u001B]0;owned\u0007\u001B[2J\u009B2J\n12:00:00 All is well',
    )
  } finally {
    write.mockRestore()
  }
  const [line = '', ...more] = lines
  expect(more).toEqual([])
  expect(line).toMatch(/^\d\d:\d\d:\d\d warn: Refused: .*owned.*All is well\n$/)
  expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})
