import { pino } from 'pino'
import { expect, test } from 'vitest'

import { MailReader, type ReadMail } from '../../dataplane/ingest/email/message/mail-reader.ts'

const SETTINGS = { program: new URL('costly-thread.ts', import.meta.url), cpuMs: 500 }

function openReader(): MailReader {
  return new MailReader(pino({ level: 'silent' }), SETTINGS)
}

interface Reading {
  kind: ReadMail['kind'] | 'pending'
  done: Promise<void>
}

function read(reader: MailReader, text: string, owner: string, sender = owner): Reading {
  const mail = Buffer.from(text)
  const about = { mailFrom: '', helo: '', remoteIp: '192.0.2.1' }
  const reading: Reading = { kind: 'pending', done: Promise.resolve() }
  reading.done = reader
    .read({ ...about, mail, organisations: [owner], sender })
    .then(({ kind }) => void (reading.kind = kind))
  return reading
}

test.for(['endless', 'all of the memory'])(
  'a mail that takes %s is refused alone, and mails of other senders are read before that',
  async (text) => {
    await using reader = openReader()
    const costly = [1, 2].map(() => read(reader, text, 'hostile'))
    for (let n = 0; n < 5; n++) {
      const other = read(reader, 'plain', `other ${n}`)
      await other.done
      expect(other.kind).toBe('read')
    }
    expect(costly.map(({ kind }) => kind)).toContain('pending')
    await Promise.all(costly.map(async ({ done }) => await done))
    expect(costly.map(({ kind }) => kind)).toEqual(['costly', 'costly'])
    const after = read(reader, 'plain', 'hostile')
    await after.done
    expect(after.kind).toBe('read')
  },
)

test('mails that wait for names hold no thread, and are read although another mail ends theirs', async () => {
  await using reader = openReader()
  const slow = Array.from({ length: 10 }, (_, n) => read(reader, 'names', `slow ${n}`))
  const plain = read(reader, 'plain', 'other')
  await plain.done
  expect(slow.map(({ kind }) => kind)).toEqual(slow.map(() => 'pending'))
  const costly = [1, 2].map((n) => read(reader, 'all of the memory', `hostile ${n}`))
  await Promise.all([...slow, ...costly].map(async ({ done }) => await done))
  expect(costly.map(({ kind }) => kind)).toEqual(['costly', 'costly'])
  expect(slow.map(({ kind }) => kind)).toEqual(slow.map(() => 'read'))
})

test('an organisation that has as many mails to be read as it may is refused, and no other', async () => {
  await using reader = openReader()
  const many = Array.from({ length: 51 }, () => read(reader, 'names', 'many'))
  await many.at(-1)?.done
  expect(many.at(-1)?.kind).toBe('busy')
  const other = read(reader, 'plain', 'other')
  await other.done
  expect(other.kind).toBe('read')
})
