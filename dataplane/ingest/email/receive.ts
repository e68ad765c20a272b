import type { Clock } from '../../../core/clock.ts'
import { MAIL_RECIPIENTS_MAX } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import { giveWay } from '../../../core/loop/turn.ts'
import { joinHeaders } from '../../../core/request/headers.ts'
import { rejected } from '../../../core/verify/request/signed-request.ts'
import { verify } from '../../../core/verify/verify.ts'
import { acceptEvent, type Received } from '../accept/accept.ts'
import { reject, type RejectDeps } from '../accept/reject.ts'
import type { IngestSource, Sources } from '../accept/sources.ts'
import type { IngestLimits } from '../budgets/limits.ts'
import type { IngestTraces } from '../trace/ingest-traces.ts'
import type { MailMetrics } from './mail-metrics.ts'
import { reportMail } from './mail-report.ts'
import { eventHeaders, readHead, type MailHead } from './message/head.ts'
import { bodyFor, type Envelope } from './message/mail-payload.ts'
import type { MailReader } from './message/mail-reader.ts'
import { isPostmaster, recipientOf, type Recipient } from './message/recipient.ts'
import { REPLIES, replyForAll, replyTo, type Reply } from './reply.ts'

export interface MailDeps extends RejectDeps {
  clock: Clock
  /** Gets a line for each recipient of a mail. */
  requestLog: Logger
  metrics: MailMetrics
  sources: Sources
  limits: IngestLimits
  reader: MailReader
  /** Addresses of mail end in it. */
  domain: string
}

/** A source that a message is for, by the address that its sender gave. */
interface Addressed {
  source: IngestSource
  recipient: Recipient
}

/** A message between its MAIL command and its answer. */
export interface Transaction {
  envelope: Envelope
  /** The address that it comes from, to which its shares belong; undefined behind a relay, which brings mail of any sender. */
  sender: string | undefined
  /** The size that its sender announced; 0 if none. */
  announcedBytes: number
  /** By the id of the source. */
  addressed: Map<string, Addressed>
}

/** Adds a recipient to the message; its answer if it is refused. (RCPT) */
export async function addRecipient(
  deps: MailDeps,
  transaction: Transaction,
  address: string,
): Promise<Reply | undefined> {
  const startedAt = performance.now()
  const { addressed, envelope } = transaction
  const found = await sourceAt(deps, transaction, address)
  if ('source' in found) {
    addressed.set(found.source.id, found)
    return undefined
  }
  reportMail(deps, found.refusal, { envelope, sourceId: found.sourceId, startedAt })
  return found.refusal
}

async function sourceAt(
  deps: MailDeps,
  { addressed, announcedBytes }: Transaction,
  address: string,
): Promise<Addressed | { refusal: Reply; sourceId?: string }> {
  if (isPostmaster(address, deps.domain)) return { refusal: REPLIES.postmaster }
  const recipient = recipientOf(address, deps.domain)
  if (recipient === undefined) return { refusal: REPLIES.relay }
  let source: IngestSource | undefined
  try {
    source = await deps.sources.get(recipient.maskId)
  } catch {
    return { refusal: REPLIES.unavailable }
  }
  if (source === undefined || !source.isEnabled || source.kind !== 'email') {
    return { refusal: REPLIES.unknown }
  }
  const sourceId = source.id
  if (source.isClosed) return { refusal: REPLIES.moved, sourceId }
  const known = addressed.get(sourceId)
  if (known?.recipient.tag === recipient.tag) return known
  if (known !== undefined) return { refusal: REPLIES.again, sourceId }
  if (addressed.size === MAIL_RECIPIENTS_MAX) return { refusal: REPLIES.manyRecipients, sourceId }
  if (announcedBytes > source.maxBytes) return { refusal: REPLIES.tooLarge, sourceId }
  if (deps.limits.takeOf(source) !== undefined) return { refusal: REPLIES.limited, sourceId }
  return { source, recipient }
}

/** Stores the message for each of its sources; the answer comes after the last commit. (DATA) */
export async function receive(
  deps: MailDeps,
  transaction: Transaction,
  mail: Buffer,
): Promise<Reply> {
  const startedAt = performance.now()
  const all = [...transaction.addressed.values()]
  const tellAll = (answer: Reply): Reply => {
    for (const { source } of all) tell(deps, answer, { transaction, source, mail, startedAt })
    return answer
  }
  const head = readHead(mail)
  if (typeof head === 'string') return tellAll(REPLIES[head])
  const organisations = [...new Set(all.map(({ source }) => source.organisationId))]
  const { envelope, sender } = transaction
  const read = await deps.reader.read({ mail, ...envelope, organisations, sender })
  if (read.kind !== 'read') return tellAll(REPLIES[read.kind])
  const message = { mail, head, read: read.json, isUncertain: read.isUncertain, startedAt }
  return replyForAll(
    await Promise.all(
      all.map(async (one) => {
        // Each source reads the body anew.
        await giveWay()
        const answer = await storeFor(deps, transaction, one, message)
        if (deps.traces !== undefined) trace(deps.traces, answer, { transaction, one, message })
        return tell(deps, answer, { transaction, source: one.source, mail, startedAt })
      }),
    ),
  )
}

/** A message that was read. */
interface Message {
  mail: Buffer
  head: MailHead
  /** The beginning of the event's body, which is the same for every source. */
  read: Buffer
  /** A name that its authentication needs could not be looked up. */
  isUncertain: boolean
  startedAt: number
}

async function storeFor(
  deps: MailDeps,
  { envelope }: Transaction,
  { source, recipient }: Addressed,
  message: Message,
): Promise<Reply> {
  const received = receivedBy(source, { envelope, recipient, message })
  try {
    const verdict = verify(source.verifier, received.signed, deps.clock.now())
    received.verifiedAt = performance.now()
    if (verdict.kind !== 'valid' && message.isUncertain) return REPLIES.uncertain
    if (verdict.kind === 'valid') return replyTo(await acceptEvent(deps, received, undefined))
    const rejection = verdict.kind === 'rejected' ? verdict : rejected('verifier_misconfigured')
    return { ...REPLIES.rejected, id: await reject(deps, received, rejection) }
  } catch (err) {
    deps.log.warn({ err }, 'Cannot handle a mail')
    return REPLIES.unavailable
  }
}

function receivedBy(
  source: IngestSource,
  { envelope, recipient, message }: { envelope: Envelope; recipient: Recipient; message: Message },
): Received {
  const { remoteIp } = envelope
  const rawHeaders = eventHeaders(message.head)
  const headers = joinHeaders(rawHeaders)
  const path = `/${recipient.maskId}`
  const about = { method: 'MAIL', query: '', headers, rawHeaders, remoteIp }
  return {
    source,
    request: { ...about, maskId: recipient.maskId, path: '/', fullPath: path },
    signed: {
      ...about,
      url: `mailto:${recipient.address}`,
      path,
      body: bodyFor(message.read, envelope, recipient),
    },
    mail: message.mail,
    startedAt: message.startedAt,
    verifiedAt: message.startedAt,
  }
}

function trace(
  traces: IngestTraces,
  { code, text, outcome, id }: Reply,
  about: { transaction: Transaction; one: Addressed; message: Message },
): void {
  const { transaction, one, message } = about
  traces.answered({
    name: 'ingest mail',
    headers: eventHeaders(message.head),
    eventId: id,
    sourceId: one.source.id,
    remoteIp: transaction.envelope.remoteIp,
    outcome,
    attributes: { 'postern.smtp.code': code },
    fault: outcome === 'unavailable' ? text : undefined,
    startedAt: message.startedAt,
  })
}

function tell(
  deps: MailDeps,
  answer: Reply,
  about: { transaction: Transaction; source: IngestSource; mail: Buffer; startedAt: number },
): Reply {
  const { transaction, source, mail, startedAt } = about
  const { envelope } = transaction
  reportMail(deps, answer, { envelope, sourceId: source.id, bytes: mail.length, startedAt })
  return answer
}
