import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { deliver } from '../email/mailbox.ts'
import { openTenant, send, type Tenant } from './tenant.ts'

const { dataDir } = inject('installation')
const Told = z.object({ smtpPort: z.int() })

let tenant: Tenant
let smtpPort: number
beforeAll(async () => {
  tenant = await openTenant()
  smtpPort = Told.parse(JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8'))).smtpPort
})

const MAIL =
  'From: Ann <ann@example.net>\r\nTo: b@example.net\r\nSubject: Order\r\nContent-Type: text/plain\r\n\r\nTwo pairs.\r\n'

test('email: a mail for <maskId>@<SMTP_DOMAIN> is an event, whose raw is its source and whose payload is its parts', async () => {
  const source = await tenant.make('sources', { kind: 'email' })
  expect(source.ingestAddress).toBe(`${source.maskId}@localhost`)
  const said = await deliver(smtpPort, source.ingestAddress, MAIL)
  const [eventId] = /evt_\w+/.exec(said.text) ?? []
  expect(said.code).toBe(250)
  expect(await tenant.get(`/v1/events/${eventId}`)).toMatchObject({
    sourceId: source.id,
    raw: MAIL,
    payload: {
      from: { name: 'Ann', address: 'ann@example.net' },
      to: [{ address: 'b@example.net' }],
      subject: 'Order',
      text: 'Two pairs.\n',
      attachments: [],
    },
  })
})

test('email: a source of mail refuses webhooks, and a source of webhooks refuses mail', async () => {
  const mail = await tenant.make('sources', { kind: 'email' })
  const http = await tenant.make('sources')
  const { status, body } = await send(mail, { body: '{}' })
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'BAD_REQUEST' })
  expect(http.ingestAddress).toBeNull()
  expect(await deliver(smtpPort, `${http.maskId}@localhost`, MAIL)).toMatchObject({ code: 550 })
})
