import pg from 'pg'
import { z } from 'zod'

import { decodeId, newId } from '../../core/ids.ts'
import { deliver } from '../email/mailbox.ts'
import { says, startEndpoint } from '../kit/endpoint.ts'
import { openPlace, type Place } from './place.ts'
import type { Told } from './told.ts'

const Id = z.object({ id: z.string() })
const Listed = z.object({ data: z.array(Id) })
const MailSource = Id.extend({ ingestAddress: z.string() })

const MAIL = [
  'From: Ann <ann@example.net>',
  'To: orders@example.com',
  'Subject: A rather long subject, as people write them when they are in a hurry: order 7',
  '',
  'Two pairs of socks.',
  '',
].join('\r\n')

/** The address of every page, in a project in which each has something to show. */
export async function everyAddress(told: Told): Promise<string[]> {
  const place = await openPlace(told)
  await using endpoint = await startEndpoint(says(500, {}, 'no luck'))
  const made = await fill(place, endpoint.url)
  const mail = await mailed(told, place)
  await openAlert(told, place)
  const { source, quiet, github, destination, connection, events, delivery } = made
  const organisation = `/org/${told.organisationId}`
  const here = (path: string): string => `/p/${place.projectId}${path}`
  return [
    '/sign-in',
    '/sign-in?problem=unverified',
    '/sign-up',
    '/forgot',
    '/setup#token',
    '/invite#token',
    '/reset#token',
    '/verify#token',
    '/me',
    '/nowhere',
    `/e/${events.sent}`,
    `/d/${delivery}`,
    ...['projects', 'members', 'keys', 'agents', 'plan', 'audit', 'settings'].map(
      (page) => `${organisation}/${page}`,
    ),
    ...[
      '',
      '?range=7d',
      `?from=${new Date(Date.now() - 3_600_000).toISOString()}&to=${new Date().toISOString()}`,
      '/start',
      `/start?source=${quiet}`,
      `/start?source=${source}&event=${events.sent}`,
      `/start?source=${source}&event=${events.sent}&destination=${destination}`,
      '/events',
      '/events?live=true',
      '/events?q=nothing&status=received&from=2026-01-01T00:00:00.000Z',
      ...Object.values(events).map((event) => `/events/${event}`),
      `/events/${events.sent}#${made.attempt}`,
      `/events/${mail.event}`,
      '/events/evt_00000000000000000000000000',
      '/deliveries',
      `/deliveries?status=succeeded&destination=${destination}&code=5xx`,
      `/deliveries/${delivery}`,
      '/sources',
      '/sources/new',
      ...[
        '',
        '?tab=verify',
        `?tab=verify&event=${events.rejected}`,
        '?tab=rotation',
        '?tab=settings',
      ].map((tab) => `/sources/${github}${tab}`),
      ...['', '?tab=settings'].map((tab) => `/sources/${mail.source}${tab}`),
      '/destinations',
      '/destinations/new',
      '/destinations/new?mode=private',
      ...['', '?tab=signing', '?tab=settings'].map((tab) => `/destinations/${destination}${tab}`),
      '/connections',
      '/connections/new',
      ...['', `?event=${events.filtered}`, '?tab=settings'].map(
        (tab) => `/connections/${connection}${tab}`,
      ),
      '/connectors',
      `/connectors/${made.connector}`,
      '/operations',
      `/operations/${made.operation}`,
      '/alerts',
    ].map(here),
  ]
}

async function fill(place: Place, url: string) {
  const { id: source, ingestUrl } = await place.source('orders')
  const { ingestUrl: lonelyUrl } = await place.source('lonely')
  const verifier = { preset: 'github', secret: 'right' }
  const { id: github, ingestUrl: githubUrl } = await place.source('github', { verifier })
  const retryPolicy = { strategy: 'schedule', scheduleSeconds: [1, 3600] }
  const destination = await place.destination('shop', url, { retryPolicy })
  const filter = { body: { amount: { $gt: 5 } } }
  const connection = await place.connection(source, destination, { filter })
  const type = 'order.created'
  const events = {
    sent: await place.send(ingestUrl, { type, amount: 12, lines: [{ sku: 'a', count: 2 }] }),
    filtered: await place.send(ingestUrl, { type, amount: 1 }),
    unmatched: await place.send(lonelyUrl, { type }),
    rejected: '',
  }
  await place.send(githubUrl, { type }, { 'x-hub-signature-256': 'sha256=00' })
  events.rejected = await firstOf(place, '/events?status=rejected')
  const { id: quiet } = await place.source('quiet')
  const connector = Id.parse(await place.call('POST', '/connectors', { name: 'office' })).id
  const wish = { kind: 'replay', filter: { sourceId: source } }
  const operation = Id.parse(await place.call('POST', '/operations', wish)).id
  const delivery = await firstOf(place, '/deliveries')
  const attempt = await attemptOf(place, delivery)
  return {
    source,
    quiet,
    github,
    destination,
    connection,
    events,
    connector,
    operation,
    delivery,
    attempt,
  }
}

async function firstOf(place: Place, path: string): Promise<string> {
  const [first] = Listed.parse(await place.call('GET', path)).data
  if (first === undefined) throw new Error(`${path} has nothing`)
  return first.id
}

const Attempts = z.object({ attempts: z.array(Id) })
const TRIES = 100

/** The first attempt is made within moments. */
async function attemptOf(place: Place, delivery: string): Promise<string> {
  for (let tries = 0; tries < TRIES; tries++) {
    const [first] = Attempts.parse(await place.call('GET', `/deliveries/${delivery}`)).attempts
    if (first !== undefined) return first.id
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('No attempt was made')
}

/** A source of mail with a mail. */
async function mailed(
  { smtpPort }: Told,
  place: Place,
): Promise<{ source: string; event: string }> {
  const wish = { name: 'orders by mail', kind: 'email', eventTypeField: 'body.subject' }
  const { id, ingestAddress } = MailSource.parse(await place.call('POST', '/sources', wish))
  const said = await deliver(smtpPort ?? 0, ingestAddress, MAIL)
  const [event = ''] = /evt_\w+/.exec(said.text) ?? []
  return { source: id, event }
}

/** An alert opens after minutes at the soonest: this writes what the housekeeper would, of a destination that is off. */
async function openAlert({ databaseUrl, organisationId }: Told, place: Place): Promise<void> {
  const destination = await place.destination('gone', 'http://127.0.0.1:9/')
  await place.call('POST', `/destinations/${destination}/toggle`, { isEnabled: false })
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    for (const closedAt of [null, new Date()]) {
      await client.query(
        `insert into alert (id, organisation_id, project_id, type, subject_id, name, level, summary, evidence, opened_at, closed_at, told_level, told_at)
         values ($1, $2, $3, 'destination.disabled', $4, 'gone', 100, $5, '{}', $6, $7, 100, $6)`,
        [
          newId(Date.now()),
          decodeId('org', organisationId),
          decodeId('prj', place.projectId),
          decodeId('dst', destination),
          'Destination gone answered 410 and was switched off.',
          new Date(Date.now() - 3_600_000),
          closedAt,
        ],
      )
    }
  } finally {
    await client.end()
  }
}
