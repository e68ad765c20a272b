import { randomInt } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { mailDomainOf } from '../../../../core/mail/mail-domain.ts'
import { decodeText } from '../../../../core/request/text.ts'
import type { ConfigOf } from '../../../../core/verify/config/verifier-config.ts'
import { compileVerifier, verify } from '../../../../core/verify/verify.ts'
import { readAddresses } from './address/address-list.ts'
import { authenticate } from './authenticate.ts'
import { readHead } from './head.ts'
import { MailNames } from './mail-names.ts'
import type { Authentication } from './mail-payload.ts'
import { valuesOf } from './sender/header-fields.ts'
import { makeKey, NameServer, signed } from './signing.fixture.ts'

/** An attacker has the key of evil.test alone. */
const KEYS = { evil: makeKey(), victim: makeKey(), testing: makeKey('t=y; ') }
let server: NameServer
let names: MailNames
beforeAll(async () => {
  server = await NameServer.open()
  server.texts.set('s1._domainkey.evil.test', KEYS.evil.record)
  server.texts.set('s1._domainkey.victim.test', KEYS.victim.record)
  server.texts.set('testing._domainkey.victim.test', KEYS.testing.record)
  server.texts.set('_dmarc.evil.test', 'v=DMARC1; p=none')
  server.texts.set('_dmarc.victim.test', 'v=DMARC1; p=reject')
  names = new MailNames([server.address])
})
afterAll(async () => await server[Symbol.asyncDispose]())

interface Read {
  from: { address: string } | null
  authentication: Authentication
}

async function read(mail: string): Promise<Read> {
  const bytes = Buffer.from(mail, 'latin1')
  const head = readHead(bytes)
  if (typeof head === 'string') throw new Error(head)
  const sent = { mail: bytes, head, mailFrom: 'a@evil.test', helo: 'x', remoteIp: '127.0.0.1' }
  const authentication = await authenticate(sent, names, () => {})
  const named = valuesOf(head, 'from').flatMap((from) => readAddresses(decodeText(from)))
  return { from: named.find(({ address }) => address !== '') ?? null, authentication }
}

type Require = ConfigOf<'email'>['require']

function takes(require: Require, mail: object, domain = 'victim.test'): boolean {
  const config = { type: 'email', require, allowedDomains: [domain] }
  const body = Buffer.from(JSON.stringify(mail))
  const about = { method: 'MAIL', url: '', path: '', query: '', headers: {}, remoteIp: '127.0.0.1' }
  return (
    verify(compileVerifier(config, { current: undefined }), { ...about, body }, Date.now()).kind ===
    'valid'
  )
}

/** The verifiers among dmarc and dkim that take a mail as one of victim.test. */
async function takenBy(mail: string): Promise<string> {
  const made = await read(mail)
  return (['dmarc', 'dkim'] as const).filter((require) => takes(require, made)).join(' ')
}

const HEADERS = 'From:To:Subject:Date:Message-ID:MIME-Version'
const HONEST = [
  'From: Boss <boss@victim.test>',
  'To: orders@example.com',
  'Subject: Hello',
  'Date: Thu, 26 Nov 2026 10:00:00 +0000',
  'Message-ID: <1@victim.test>',
  'MIME-Version: 1.0',
  '',
  'Ten pairs.',
  '',
].join('\r\n')
const PARTS =
  '--b\r\nContent-Type: text/plain\r\n\r\nTen pairs.\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>\r\n--b--\r\n'
const MULTIPART = HONEST.replace(
  '\r\n\r\nTen pairs.\r\n',
  `\r\nContent-Type: multipart/alternative; boundary="b"\r\n\r\n${PARTS}`,
)

function ofVictim(
  mail = HONEST,
  options: { headers?: string; tags?: string; selector?: string } = {},
): string {
  const { key } = options.selector === 'testing' ? KEYS.testing : KEYS.victim
  return signed(mail, { key, domain: 'victim.test', headers: HEADERS, ...options })
}

const now = Math.floor(Date.now() / 1_000)

test.for<[name: string, mail: string]>([
  ['a signed mail', ofVictim()],
  [
    'headers that are signed once more, against others',
    ofVictim(HONEST, { headers: `${HEADERS}:From:Subject:Reply-To:Cc` }),
  ],
  ['no signature of the type, as at Gmail', ofVictim(MULTIPART)],
  [
    'no signature of type and version, as at Yandex',
    ofVictim(MULTIPART, { headers: 'Subject:To:From:Date:Message-ID' }),
  ],
  [
    'no signature of To, as at Microsoft',
    ofVictim(HONEST, { headers: 'From:Date:Subject:Message-ID:Content-Type:MIME-Version' }),
  ],
  ['l= that covers all', ofVictim(HONEST, { tags: 'l=12; ' })],
  ['a clock that is a minute ahead', ofVictim(HONEST, { tags: `t=${now + 60}; ` })],
  [
    'a signature of somebody else beside it',
    signed(ofVictim(), { key: KEYS.evil.key, domain: 'evil.test', headers: HEADERS }),
  ],
  [
    'a broken signature beside it',
    `DKIM-Signature: v=1; a=rsa-sha256; d=evil.test; s=s1; h=From; bh=AA==; b=AA==\r\n${ofVictim()}`,
  ],
  [
    'trace headers on top',
    `Received: from a by b; Thu, 26 Nov 2026 10:00:00 +0000\r\nX-Spam: no\r\n${ofVictim()}`,
  ],
  ['a name with a comma that is not quoted', ofVictim(HONEST.replace('Boss <', 'Doe, Boss <'))],
  [
    'comments and a dot of the root',
    ofVictim(HONEST.replace('Boss <boss@victim.test>', 'boss(x)@victim . test.')),
  ],
  [
    '8-bit text in headers',
    ofVictim(HONEST.replace('Hello', 'Gr\xfc\xdfe').replace('Boss', 'B\xc3\xb6ss')),
  ],
])('%s passes DMARC and DKIM', async ([, mail]) => {
  expect(await takenBy(mail)).toBe('dmarc dkim')
})

const ADDED = [
  'From: ceo@victim.test',
  'Subject: PAY NOW',
  'Message-ID: <2@victim.test>',
  'Date: Fri, 27 Nov 2026 10:00:00 +0000',
  'To: other@example.com',
  'MIME-Version: 1.0',
  'Reply-To: x@evil.test',
  'Sender: x@evil.test',
  'Subject : PAY NOW',
  'sUBJECT:\r\n PAY NOW',
  'Subject\r\n\t: PAY NOW',
  'Subject\r\n\t\r\n\t: PAY NOW',
]

test.for(ADDED)('a signed mail with "%s" added is refused', async (line) => {
  const mail = ofVictim()
  expect(await takenBy(`${line}\r\n${mail}`)).toBe('')
  const below = mail.replace('\r\n\r\n', `\r\n${line}\r\n\r\n`)
  expect(await takenBy(below)).toBe('')
})

test.for<[name: string, reason: string, mail: string]>([
  [
    'text added behind l=',
    'body_not_covered',
    `${ofVictim(HONEST, { tags: 'l=12; ' })}PAY NOW\r\n`,
  ],
  ['l=0', 'body_not_covered', ofVictim(HONEST, { tags: 'l=0; ' }).replace('Ten pairs', 'PAY NOW')],
  ['a key that is tested', 'test_key', ofVictim(HONEST, { selector: 'testing' })],
  ['a signature of tomorrow', 'dated_ahead', ofVictim(HONEST, { tags: `t=${now + 86_400}; ` })],
  ['a signature of no time', 'malformed', ofVictim(HONEST, { tags: 't=99999999999999; ' })],
  ['an identity of another domain', 'malformed', ofVictim(HONEST, { tags: 'i=x@evil.test; ' })],
  [
    'an unsigned Subject',
    'header_not_covered',
    ofVictim(HONEST, { headers: 'From:To:Date:Message-ID' }),
  ],
  [
    'an unsigned Message-ID',
    'header_not_covered',
    ofVictim(HONEST, { headers: 'From:To:Date:Subject' }),
  ],
  [
    'an unsigned Date',
    'header_not_covered',
    ofVictim(HONEST, { headers: 'From:To:Message-ID:Subject' }),
  ],
  ['two types', 'header_repeated', `Content-Type: text/html\r\n${ofVictim(MULTIPART)}`],
  [
    'two encodings',
    'header_repeated',
    `Content-Transfer-Encoding: base64\r\nContent-Transfer-Encoding: 7bit\r\n${ofVictim()}`,
  ],
  [
    'another boundary',
    'type_not_covered',
    ofVictim(MULTIPART).replace('boundary="b"', 'boundary="c"'),
  ],
  [
    'a boundary that is given twice',
    'type_not_covered',
    ofVictim(MULTIPART).replace('boundary="b"', 'boundary="b"; boundary=c'),
  ],
  [
    'parts as text',
    'type_not_covered',
    ofVictim(MULTIPART).replace('multipart/alternative', 'text/html'),
  ],
  [
    'parts without a type',
    'type_not_covered',
    ofVictim(MULTIPART).replace(/Content-Type: multi.*\r\n/, ''),
  ],
  [
    'text as parts',
    'type_not_covered',
    ofVictim(HONEST.replace('Ten', '> --x\r\n--x\r\nTen'), {}).replace(
      '\r\nMIME-V',
      '\r\nContent-Type: multipart/mixed; boundary=x\r\nMIME-V',
    ),
  ],
  [
    'parts in base64',
    'type_not_covered',
    `Content-Transfer-Encoding: base64\r\n${ofVictim(MULTIPART)}`,
  ],
  ['two authors', 'no_single_author', ofVictim(HONEST.replace('From: ', 'From: a@victim.test, '))],
  [
    'an author within an encoded word',
    'no_single_author',
    ofVictim(HONEST.replace(/From: .*/, 'From: =?utf-8?Q?a@victim.test?=')),
  ],
])('%s is refused: %s', async ([, reason, mail]) => {
  expect(await takenBy(mail)).toBe('')
  const { authentication } = await read(mail)
  expect(authentication.dkim).toMatchObject([{ result: 'policy', reason }])
  expect(authentication.dmarc.result).not.toBe('pass')
})

test('a key is asked of the domain that signs, whatever its selector is', async () => {
  const selector = 's1._domainkey.evil.test\0'
  const mail = signed(HONEST, {
    key: KEYS.evil.key,
    domain: 'victim.test',
    selector,
    headers: HEADERS,
  })
  expect(await takenBy(mail)).toBe('')
})

test('each signature is judged by itself', async () => {
  const mail = ofVictim(ofVictim(HONEST, { selector: 'testing' }))
  const { authentication } = await read(mail)
  expect(authentication.dkim).toMatchObject([
    { domain: 'victim.test', selector: 's1', result: 'pass', reason: null },
    { domain: 'victim.test', selector: 'testing', result: 'policy', reason: 'test_key' },
  ])
  expect(authentication.dkim[0]?.signed).toEqual(HEADERS.toLowerCase().split(':'))
})

const A_WORD = `=?utf-8?B?${Buffer.from('Ann <a@victim.test>').toString('base64')}?=`
const ADDRESSES = [
  'a@evil.test',
  'b@victim.test',
  'victim.test',
  A_WORD,
  '=?utf-8?Q?b@victim.test?=',
  '\r\n ',
  '?=',
]
const FORGED = [
  'a@evil.test boss@victim.test',
  '<a@evil.test boss@victim.test>',
  '<a@evil.test\tboss@victim.test>',
  '"n" <a@evil.test boss@victim.test>',
  `${A_WORD}, x@evil.test`,
  `=?utf-8?Q?a@victim.test?=, x@evil.test`,
  `=?utf-8?Q?a@victim.test?= ;"x@evil.test"`,
  `${A_WORD} <x@evil.test>`,
  '<a@victim.test>, <x@evil.test>',
  '<@victim.test,@evil.test:x@evil.test>',
  '"a@victim.test" <x@evil.test>',
  'a@victim.test <x@evil.test>',
  'x@evil.test (a@victim.test)',
  'a@victim.test(x@evil.test)',
  'x@evil.test\0a@victim.test',
  'a@victim.test\0@evil.test',
  'x@evil.test@victim.test',
  '"x@evil.test"@victim.test',
  'a@victim.test,',
  'victim.test: x@evil.test;',
  'a@victim.test;x@evil.test',
  'a@[victim.test]@evil.test',
  'a@victim.test>x@evil.test',
  '<a@victim.test><x@evil.test>',
]

test.for(FORGED)('evil.test does not write as victim.test by From: %s', async (from) => {
  const mail = signed(
    HONEST.replace(/From: .*/, () => `From: ${from}`),
    {
      key: KEYS.evil.key,
      domain: 'evil.test',
      headers: HEADERS,
    },
  )
  const made = await read(mail)
  expect(takes('dmarc', made)).toBe(false)
  if (made.authentication.dmarc.result === 'pass') {
    // oxlint-disable-next-line vitest/no-conditional-expect -- of those that pass
    expect(mailDomainOf(made.from?.address ?? '')).toBe('evil.test')
  }
})

const PIECES = [...FORGED, ...ADDRESSES, ...'a"()\\,;:@.<> \t[]\0\xe9\xa0%'.split('')]

test('the domain that DMARC passes for is the one that is shown, in any From', async () => {
  const faults: string[] = []
  let passes = 0
  for (let n = 0; n < 500; n++) {
    const pieces = Array.from({ length: 1 + randomInt(7) }, () => PIECES[randomInt(PIECES.length)])
    const from = pieces.join('')
    const mail = signed(
      HONEST.replace(/From: .*/, () => `From: ${from}`),
      {
        key: KEYS.evil.key,
        domain: 'evil.test',
        headers: HEADERS,
      },
    )
    const made = await read(mail)
    if (made.authentication.dmarc.result === 'pass') {
      passes++
      if (mailDomainOf(made.from?.address ?? '') !== 'evil.test') faults.push(from)
    }
    if (
      takes('dmarc', made) ||
      takes('none', made) !== (made.authentication.dmarc.domain === 'victim.test')
    )
      faults.push(from)
  }
  expect(faults).toEqual([])
  expect(passes).toBeGreaterThan(5)
})
