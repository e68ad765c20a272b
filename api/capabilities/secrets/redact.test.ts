import { expect, test } from 'vitest'

import { redact } from './redact.ts'
import { isSecretName } from './secret-names.ts'

const S = 'hunter2hunter2'
const inJson = (value: unknown): string => JSON.stringify(value)
const AWS = `AKIA${'ABCD'.repeat(4)}`

test.for<[spelling: string, text: string]>([
  ['a number', `{"secret":12345678901234}`],
  ['an array', `{"tokens":["${S}"]}`],
  ['an object', `{"credentials":{"value":"${S}"}}`],
  ['arrays in an object', `{"a":[{"password":[["${S}"],{"b":"${S}"}]}],"c":1}`],
  ['an escaped name', String.raw`{"pass\u0077ord":"${S}"}`],
  ['an escaped quote in the name', String.raw`{"my \"password\"":"${S}"}`],
  ['an escaped quote in the value', String.raw`{"password":"a\"${S}"}`],
  ['a backslash before the end of a string', String.raw`{"a":"\\","password":"${S}"}`],
  ['letters of full width', `{"ｐａｓｓｗｏｒｄ":"${S}"}`],
  ['JSON in a text', inJson({ payload: inJson({ password: S }) })],
  ['JSON in a text in a text', inJson({ a: inJson({ b: inJson({ token: [S] }) }) })],
  ['a form in a text', inJson({ body: `a=1&client_secret=${S}` })],
  ['a URL in a text', inJson({ url: `https://a.example/?api_key=${S}` })],
  ['YAML in a text', inJson({ config: `a: 1\npassword: ${S}\n` })],
  ['XML in a text', inJson({ xml: `<a><password>${S}</password></a>` })],
  ['a long name', `{"${'x'.repeat(300)}_password":"${S}"}`],
  ['blanks', `{ "password"\n\t:\n  "${S}" }`],
  ['lines of JSON', `{"a":1}\n{"password":"${S}"}\n`],
  ['JSON behind words', `failed: {"password":"${S}"}`],
  ['JSON behind a stray quote', `he said " {"a":1,"password":"${S}"}`],
  ['JSON behind a bracket', `[12:00] "log {"password":"${S}"}`],
  ['names without quotes', `{password: '${S}'}`],
  ['JSON that is cut', `{"a":{"password":{"b":["${S}`],
  ['a cut text', `{"password":"${S}`],
  ['a cut escape', String.raw`{"a":"b=1&password=${S}\u00`],
  ['a name and its value', `[{"name":"password","value":"${S}"}]`],
  ['session_id', `{"session_id":"${S}"}`],
  ['client_assertion', `client_assertion=${S}`],
  ['cvv', `{"cvv":90210345}`.replace('90210345', S)],
  ['camel case', `{"userSessionId":"${S}","x":{"cardPin":"${S}"}}`],
  ['a form', `a=1&password=${S}&b=2`],
  ['a percent-decoded name', `pass%77ord=${S}`],
  ['a name with a bad escape', `x%pass%77ord=${S}`],
  ['a name with plus', `client+secret=${S}`],
  ['a name in brackets', `user%5Bpassword%5D=${S}&user[token]=${S}`],
  ['JSON in a form', `payload=${encodeURIComponent(inJson({ token: S }))}`],
  ['a form behind semicolons', `a=b;password=${S}`],
  ['an assignment', `login password = "${S}" failed`],
  ['a query', `https://a.example/hook?b=1&sig=${S}#x`],
  ['a fragment', `https://a.example/#access_token=${S}`],
  ['parameters k, sas, jwt and assertion', `?k=${S}&sas=${S}&jwt=${S}&assertion=${S}`],
  ['the user of a URL', `see https://user:${S}@a.example/x`],
  ['a token for the user of a URL', `git clone https://${S}@a.example/x.git`],
  ['a database', `postgres://app:${S}@db/x`],
  ['an element', `<r><Password type="x">${S}</Password></r>`],
  ['an element with a prefix', `<s:Envelope><wsse:Password>${S}</wsse:Password></s:Envelope>`],
  ['elements in an element', `<credentials><user>${S}</user></credentials>`],
  ['a section of CDATA', `<token><![CDATA[${S}]]></token>`],
  ['an element that is cut', `<a><token>${S}`],
  ['an attribute', `<db password="${S}" user='a'/>`],
  ['a named attribute', `<add key="password" value="${S}"/>`],
  ['a field of a page', `<input type="text" name="csrf" value="${S}">`],
  ['YAML', `a: b\n  password: ${S}\nc: d`],
  ['a block of YAML', `password: |\n  ${S}\n  ${S}\nc: d`],
  ['children in YAML', `credentials:\n  value: ${S}\nc: d`],
  ['a list in YAML', `tokens:\n- ${S}\n- ${S}\nc: d`],
  ['a quoted name in YAML', `"password": ${S}`],
  ['a header in a text', `POST / HTTP/1.1\r\nCookie: a=${S}; b=${S}\r\nHost: a`],
  [
    'a field of a multipart form',
    `--b\r\ncontent-disposition: form-data; name="token"\r\n\r\n${S}\r\n--b--`,
  ],
  ['a URL of Slack', `https://hooks.slack.com/services/T00/B00/${S}`],
  ['a URL of Discord', `https://discord.com/api/webhooks/123/${S}`],
  ['a token of Slack', `xoxb-1234-${S}`],
  ['a key of Stripe', `sk_live_${S}`],
  ['a token of GitHub', `ghp_${S.repeat(3)}`],
  ['a fine token of GitHub', `github_pat_${S.repeat(3)}`],
  ['a JWT', `eyJhbGciOiJIUzI1NiJ9.${S}.${S}`],
  ['a bearer token', `with bearer ${S}`],
  ['a key in JSON', inJson({ note: `use sk-ant-${S}${S}` })],
])('%s shows no secret', ([, text]) => {
  const shown = redact(text)
  expect(shown).not.toContain('hunter2')
  expect(shown).not.toContain('12345678901234')
  expect(shown).toContain('***')
  expect(redact(shown)).toBe(shown)
})

test('a key of Amazon is masked wherever it stands', () => {
  expect(redact(`{"a":"${AWS}"} ${AWS}`)).toBe('{"a":"***"} ***')
})

test.for([
  '{"id":12345678901234567890,"a": [1.0, -2e5, true, null], "text":"a \\u00e9 \\"b\\"", "a":2}',
  '{"token":null,"has_secret":false,"author":"Ada","design":"blue","idempotency_key":"k1"}',
  'order=12&customer=Ada&page=2&redirect=https%3A%2F%2Fa.example%2F%3Fb%3D1',
  'Dear Ada: your order 12 is on its way. See https://a.example/orders/12?lang=de#top',
  '<order id="12"><customer name="Ada">x</customer></order>',
  'name: Ada\ntotal: 12\nlines:\n  - a\n  - b\n',
  'a = 1, b = 2; 10:30 [x] {y} "z"',
  '',
])('%s stays as it is', (text) => {
  expect(redact(text)).toBe(text)
})

test.for([
  ['x-key', true],
  ['Ocp-Apim-Subscription-Key', true],
  ['x-jwt', true],
  ['x-goog-iap-jwt-assertion', true],
  ['x-auth', true],
  ['x-pass', true],
  ['x-session', true],
  ['Set-Cookie', true],
  ['Proxy-Authorization', true],
  ['X-Hub-Signature-256', true],
  ['X-Shopify-Hmac-Sha256', true],
  ['X-Amz-Security-Token', true],
  ['otp', true],
  ['code', true],
  ['Content-Type', false],
  ['Idempotency-Key', false],
  ['X-Signed-By', false],
  ['zip_code', false],
  ['passenger', false],
  ['compass_wheel', false],
  ['monkey', false],
  ['Authentication-Results', false],
] as const)('the name %s is secret: %s', ([name, isSecret]) => {
  expect(isSecretName(name)).toBe(isSecret)
})

test.for([
  '"',
  '{"',
  '{"a":',
  '[',
  '{"a":"{\\"a\\":\\"',
  '<a ',
  '<token>',
  'a=',
  'token=',
  '%7B',
  'a=%7B%22',
  'a: \n',
  'name="a"\n\n',
  '://',
  'a://',
  '\\',
  '-----BEGIN PRIVATE KEY-----',
  'eyJaaaaaaaa.',
  '"a": ',
  'key-',
])('%s over and over costs no more than other text', (piece) => {
  const text = piece.repeat(Math.ceil(12_288 / piece.length))
  redact(text)
  const { user } = process.cpuUsage()
  redact(text)
  expect(process.cpuUsage().user - user).toBeLessThan(250_000)
})
