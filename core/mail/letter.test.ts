import { expect, test } from 'vitest'

import { writeLetter } from './letter.ts'

const letter = {
  subject: 'Join <us>',
  paragraphs: ['Ada & Bea invite you.', 'It costs "nothing".'],
  action: { label: 'Join', url: 'https://relay.example.com/invite#a&b' },
  end: 'Sent by Postern.',
}

test('a letter says the same as text and as HTML, the names in it escaped', () => {
  const { subject, text, html } = writeLetter(letter)
  expect(subject).toBe('Join <us>')
  expect(text).toBe(
    'Ada & Bea invite you.\n\nIt costs "nothing".\n\nJoin:\nhttps://relay.example.com/invite#a&b\n\n-- \nSent by Postern.\n',
  )
  expect(html).toContain('<p>Ada &amp; Bea invite you.</p><p>It costs &quot;nothing&quot;.</p>')
  expect(html).toContain('href="https://relay.example.com/invite#a&amp;b"')
  expect(html).toContain('<title>Join &lt;us&gt;</title>')
  expect(html).not.toMatch(/<(?:img|link|script)|url\(/)
})

test('a letter that leads nowhere has no link', () => {
  const { text, html } = writeLetter({ subject: 'S', paragraphs: ['P'] })
  expect(text).toBe('P\n')
  expect(html).not.toContain('href')
})
