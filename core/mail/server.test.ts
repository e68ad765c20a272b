import { expect, test } from 'vitest'

import { serverOf } from './server.ts'

test.for([
  ['smtp://mail.example.com', { port: 587, secure: false, requireTLS: false }],
  ['smtp://mail.example.com:25', { port: 25, secure: false, requireTLS: false }],
  ['smtps://mail.example.com', { port: 465, secure: true, requireTLS: false }],
  ['smtp://u:p@mail.example.com', { secure: false, requireTLS: true }],
  ['smtp://mail.example.com?tls=required', { secure: false, requireTLS: true }],
  ['smtp://u:p@127.0.0.1:1025', { secure: false, requireTLS: false }],
  ['smtp://u:p@localhost:1025', { secure: false, requireTLS: false }],
  ['smtp://[::1]:25', { host: '::1', requireTLS: false }],
] as const)('%s is reached as it says', ([url, expected]) => {
  expect(serverOf(url)).toMatchObject(expected)
})

test('a password is given to a server that has proved who it is, or to this machine', () => {
  for (const url of ['smtp://u:p@mail.example.com', 'smtps://u:p@mail.example.com']) {
    expect(serverOf(url).tls).toEqual({ rejectUnauthorized: true })
  }
  expect(serverOf('smtp://u:p@127.0.0.1').tls).toEqual({ rejectUnauthorized: false })
  expect(serverOf('smtp://u%40x:p%2F@127.0.0.1').auth).toEqual({ user: 'u@x', pass: 'p/' })
  expect(serverOf('smtp://127.0.0.1').auth).toBeUndefined()
})
