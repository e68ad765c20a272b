import MailComposer from 'nodemailer/lib/mail-composer'

/** A mail of a corpus, with a name that a failing test can say. */
export interface Sample {
  name: string
  mail: Buffer
  mailFrom: string
}

const CRLF = '\r\n'

/** The same mail in every form that sending programs give it: 200 of them and more. */
export async function makeCorpus(): Promise<Sample[]> {
  const composed = await Promise.all(
    COMPOSED.map(async ([name, fields]) => await compose(name, fields)),
  )
  return [
    ...composed,
    ...RAW.flatMap(([name, texts]) => texts.map((text, n) => raw(`${name} ${n}`, text))),
  ]
}

async function compose(name: string, fields: object): Promise<Sample> {
  const composer = new MailComposer({
    from: 'Ann Example <ann@example.net>',
    to: 'orders@example.com',
    subject: 'Order',
    ...fields,
  })
  return { name, mail: await composer.compile().build(), mailFrom: 'ann@example.net' }
}

function raw(name: string, text: string | Buffer): Sample {
  const mail = typeof text === 'string' ? Buffer.from(text, 'latin1') : text
  return { name, mail, mailFrom: name.startsWith('report') ? '' : 'ann@example.net' }
}

const PROGRAMS = [
  { 'X-Mailer': 'Apple Mail (2.3774.500.171.1.1)', 'Mime-Version': '1.0 (Mac OS X Mail 16.0)' },
  { 'User-Agent': 'Mozilla Thunderbird', 'Content-Language': 'en-GB' },
  { 'X-Mailer': 'Microsoft Outlook 16.0', 'Thread-Index': 'AdoX', 'X-MS-Has-Attach': 'yes' },
  { 'X-Google-Smtp-Source': 'AGHT', 'X-Gm-Message-State': 'AOJu' },
  { 'X-SG-EID': 'u001.abc', 'List-Unsubscribe': '<https://example.com/u>, <mailto:u@example.com>' },
  { 'X-PHP-Originating-Script': '33:mail.php' },
]

const TEXTS = [
  { text: 'Hello' },
  { html: '<p>Hello</p>' },
  { text: 'Hello', html: '<p>Hello</p>' },
  { text: '' },
  { text: 'Grüße, 你好, שלום, 🎉'.repeat(40) },
  { text: 'Zeile '.repeat(500), textEncoding: 'base64' },
  { text: '.\r\n..\r\n...\r\n. dot\r\n', encoding: '7bit' },
  { amp: '<html ⚡4email></html>', text: 'a', html: '<b>a</b>' },
]

const FILES = [
  [],
  [{ filename: 'a.pdf', content: Buffer.from([0, 1, 2, 255]) }],
  [{ filename: 'naïve 名前.txt', content: 'x' }],
  [{ cid: 'logo', filename: 'logo.png', content: Buffer.alloc(3_000, 7) }],
]

/** 6 programs, 8 texts and 3 of the attachments each: 144 mails. */
const COMPOSED: [name: string, fields: object][] = PROGRAMS.flatMap((headers, program) =>
  TEXTS.flatMap((text, kind) =>
    [0, 1, 2].map((n): [string, object] => {
      const attachments = FILES[(program + kind + n) % FILES.length] ?? []
      return [`program ${program} text ${kind} files ${n}`, { headers, ...text, attachments }]
    }),
  ),
)

const HEAD = `From: ann@example.net${CRLF}To: b@example.com${CRLF}`
const typed = (type: string, body: string, encoding = '8bit'): string =>
  `${HEAD}MIME-Version: 1.0${CRLF}Content-Type: ${type}${CRLF}Content-Transfer-Encoding: ${encoding}${CRLF}${CRLF}${body}${CRLF}`
const subject = (text: string): string => `${HEAD}Subject: ${text}${CRLF}${CRLF}x${CRLF}`
const inner = `${HEAD}Subject: inner${CRLF}${CRLF}inner${CRLF}`
const mixed = (...parts: string[]): string =>
  typed(
    'multipart/mixed; boundary="=_b"',
    `preamble${CRLF}${parts.map((part) => `--=_b${CRLF}${part}${CRLF}`).join('')}--=_b--${CRLF}epilogue`,
  )
const within = (mail: string): string => mixed(`Content-Type: message/rfc822${CRLF}${CRLF}${mail}`)

/** Written by hand, as no program that keeps to the rules would. */
const RAW: [name: string, texts: (string | Buffer)[]][] = [
  [
    'charset',
    [
      'us-ascii',
      'utf-8',
      'iso-8859-1',
      'iso-8859-15',
      'windows-1252',
      'koi8-r',
      'shift_jis',
      'gb2312',
      'big5',
      'euc-kr',
      'utf-16',
      'utf-7',
      'x-unknown',
      '""',
    ].map((charset) => typed(`text/plain; charset=${charset}`, 'Gr\xfc\xdfe \xc3\xbc \x83\x65')),
  ],
  [
    'encoding',
    ['7bit', '8bit', 'binary', 'quoted-printable', 'base64', 'x-uuencode', 'nonsense'].map(
      (encoding) => typed('text/plain; charset=utf-8', 'SGFsbG8= =C3=BC =\r\n==', encoding),
    ),
  ],
  [
    'subject',
    [
      'Gr\xfc\xdfe',
      '=?utf-8?B?8J+OiQ==?=',
      '=?utf-8?Q?=F0=9F?= =?utf-8?Q?=8E=89?=',
      '=?x-none?Q?=FF?=',
      '=?utf-8?B?!!!?=',
      '',
      'x'.repeat(2_000),
      `folded${CRLF}\tover${CRLF} lines`,
      '\0nul',
      '\x1b[31mred',
    ].map(subject),
  ],
  [
    '8-bit headers',
    [
      `From: J\xfcrgen <j@example.net>${CRLF}${HEAD}X-\xe4: y${CRLF}${CRLF}x`,
      Buffer.from(`From: Jürgen <j@example.net>\r\nSubject: 你好\r\n\r\nx\r\n`),
    ],
  ],
  [
    'empty',
    [
      '',
      CRLF,
      `${CRLF}${CRLF}`,
      HEAD,
      `${HEAD}${CRLF}`,
      '.',
      'no header at all',
      ':',
      ' leading blank',
    ],
  ],
  [
    'addresses',
    [
      '',
      '<>',
      'a@b, c@d',
      '"A, B" <a@b>',
      'Team: a@b, c@d;',
      'Nobody:;',
      '=?utf-8?Q?J=C3=BCrgen?= <j@b>',
      `${'a@b, '.repeat(200)}c@d`,
      '<a@b',
    ].map((text) => `From: ${text}${CRLF}To: ${text}${CRLF}Cc: ${text}${CRLF}${CRLF}x`),
  ],
  [
    'nested',
    [
      within(inner),
      within(within(inner)),
      within(within(within(inner))),
      within(''),
      mixed(),
      mixed(''),
      mixed(within(inner), within(inner)),
      `${HEAD}Content-Type: message/rfc822${CRLF}${CRLF}${inner}`,
    ],
  ],
  [
    'parts',
    [
      mixed('Content-Type: text/calendar; method=REQUEST\r\n\r\nBEGIN:VCALENDAR'),
      mixed('Content-Disposition: attachment; filename*0="a"; filename*1="b.txt"\r\n\r\nx'),
      mixed("Content-Disposition: attachment; filename*=utf-8''%E4%BD%A0.txt\r\n\r\nx"),
      typed('multipart/mixed', 'no boundary'),
      typed('multipart/mixed; boundary=""', '--\r\n\r\nx'),
      typed('multipart/alternative; boundary=b', '--b\r\n\r\nnever closed'),
      typed('text/html', `<p>${'x'.repeat(50_000)}</p>`),
      typed('application/pdf', '%PDF', '8bit'),
    ],
  ],
  [
    'report',
    [
      typed(
        'multipart/report; report-type=delivery-status; boundary=b',
        `--b${CRLF}${CRLF}failed${CRLF}--b${CRLF}Content-Type: message/delivery-status${CRLF}${CRLF}Action: failed${CRLF}--b${CRLF}Content-Type: message/rfc822${CRLF}${CRLF}${inner}--b--`,
      ),
      `${HEAD}Auto-Submitted: auto-replied${CRLF}${CRLF}Away`,
      `Return-Path: <>${CRLF}${HEAD}${CRLF}x`,
    ],
  ],
  [
    'huge headers',
    [
      `X-Long: ${'y'.repeat(60_000)}${CRLF}${inner}`,
      `${'X-Many: y\r\n'.repeat(400)}${inner}`,
      `${'x'.repeat(500)}: y${CRLF}${inner}`,
      `__proto__: a${CRLF}constructor: b${CRLF}toString: c${CRLF}${inner}`,
    ],
  ],
  [
    'smuggling',
    ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r\n\0.\r\n', '\r.\r\n', '\n.\rx', '\r\n.\r'].map(
      (end) => `${HEAD}${CRLF}a${end}MAIL FROM:<x@example.net>${end}b`,
    ),
  ],
  [
    'newlines',
    ['a\nb\nc', 'a\rb\rc', 'a\r\r\nb', '\n\n\n', 'x'.repeat(5_000)].map(
      (text) => `${HEAD}${CRLF}${text}`,
    ),
  ],
]
