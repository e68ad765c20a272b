import { expect, test } from 'vitest'

import { pastedRequest } from './pasted-request.ts'

test('the bytes of HTTP are read: method, repeated headers, body to its end', () => {
  const text = 'POST /in/abc HTTP/1.1\r\nX-Sig: one\r\nX-Sig: two\r\nHost: a\r\n\r\n{"a":1}\n'
  expect(pastedRequest(text)).toEqual({
    method: 'POST',
    url: undefined,
    headers: { 'x-sig': ['one', 'two'], host: 'a' },
    body: '{"a":1}\n',
  })
})

test('headers without a first line are a request as well', () => {
  expect(pastedRequest('x-sig: one\n\nbody')).toMatchObject({
    headers: { 'x-sig': 'one' },
    body: 'body',
  })
})

test('a curl command is read as a shell reads it', () => {
  const command = String.raw`curl -X PUT 'https://a.example/in?x=1' \
    -H 'X-Sig: it'\''s' --header "X-Other: say \"hi\"" -o /dev/null \
    --data-raw '{"a": "b"}'`
  expect(pastedRequest(command)).toEqual({
    method: 'PUT',
    url: 'https://a.example/in?x=1',
    headers: { 'x-sig': "it's", 'x-other': 'say "hi"' },
    body: '{"a": "b"}',
  })
})
