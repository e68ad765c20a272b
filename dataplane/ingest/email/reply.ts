import { encodeId } from '../../../core/ids.ts'
import {
  MAIL_ATTACHMENTS_MAX,
  MAIL_DEPTH_MAX,
  MAIL_LINES_MAX,
  MAIL_PARTS_MAX,
  MAIL_SIGNATURES_MAX,
} from '../../../core/limits.ts'
import type { StoreResult } from '../accept/event.ts'
import type { MailOutcome } from './mail-metrics.ts'

/** The answer to a sender of mail, which has a code and an enhanced code. (RFC 5321, RFC 3463) */
export interface Reply {
  code: number
  text: string
  outcome: MailOutcome
  eventId?: string
  /** The same, as it is stored. */
  id?: Buffer | undefined
}

const reply = (code: number, text: string, outcome: MailOutcome): Reply => ({ code, text, outcome })

const unreadable = (excess: string): Reply =>
  reply(554, `5.6.0 The message has ${excess}`, 'unsupported_body')

/** A 4xx code makes a sender try again, for days; a 5xx one makes it give up and tell whoever wrote the mail. */
export const REPLIES = {
  relay: reply(550, '5.7.1 Mail for other domains is not taken', 'not_found'),
  unknown: reply(550, '5.1.1 There is no source at this address', 'not_found'),
  postmaster: reply(
    550,
    '5.1.1 This server has no mailbox of a person: write to the postmaster of the domain above it',
    'not_found',
  ),
  limited: reply(
    451,
    '4.7.1 More mails than the source takes in a second, try again',
    'rate_limited',
  ),
  manyRecipients: reply(452, '4.5.3 Too many recipients in one message', 'bad_request'),
  again: reply(452, '4.5.3 One address of a source in one message', 'bad_request'),
  tooLarge: reply(552, '5.3.4 The message is larger than the source takes', 'too_large'),
  longHead: reply(552, '5.3.4 The headers are longer than 64 KiB or 500 lines', 'too_large'),
  loops: reply(554, '5.4.6 The message loops: it has too many Received lines', 'bad_request'),
  manySignatures: unreadable(`more than ${MAIL_SIGNATURES_MAX} DKIM signatures`),
  manyLines: unreadable(`more than ${MAIL_LINES_MAX} lines`),
  manyParts: unreadable(`more than ${MAIL_PARTS_MAX} parts`),
  deepParts: unreadable(`parts within parts more than ${MAIL_DEPTH_MAX} deep`),
  manyAttachments: unreadable(`more than ${MAIL_ATTACHMENTS_MAX} attachments`),
  rejected: reply(550, '5.7.1 The message is not accepted', 'rejected'),
  costly: reply(554, '5.6.0 The message takes too long to read', 'unsupported_body'),
  quota: reply(452, '4.2.2 The delivery quota of the source is used up', 'quota_exceeded'),
  moved: reply(
    451,
    '4.3.0 This source has moved to another installation, try again',
    'unavailable',
  ),
  unavailable: reply(451, '4.3.0 The message could not be stored, try again', 'unavailable'),
  busy: reply(
    451,
    '4.3.2 More messages arrive than there is room or time for, try again',
    'unavailable',
  ),
  uncertain: reply(451, '4.7.5 The sender could not be verified now, try again', 'unavailable'),
  idle: reply(421, '4.4.2 No message came for too long', 'aborted'),
  crowded: reply(421, '4.3.2 Too many connections, try again', 'unavailable'),
  slow: reply(421, '4.4.2 The message took too long', 'aborted'),
  stopping: reply(421, '4.3.2 The server is stopping, try again', 'unavailable'),
  tooManyFaults: reply(421, '4.7.0 Too many refused recipients', 'bad_request'),
} as const

/** The answer about one recipient, by the outcome of its event. */
export function replyTo(result: StoreResult): Reply {
  switch (result.kind) {
    case 'stored':
      return stored(result.event.id)
    case 'spooled':
      return stored(result.id)
    case 'duplicate':
      return reply(250, '2.0.0 The message was stored before', 'duplicate')
    case 'over_quota':
      return REPLIES.quota
    case 'failed':
      return REPLIES.unavailable
  }
}

function stored(id: Buffer): Reply {
  const eventId = encodeId('evt', id)
  return { ...reply(250, `2.0.0 Stored as ${eventId}`, 'stored'), eventId, id }
}

/**
 * The one answer to a message for several sources: a transient refusal of any goes to the sender, whose next try repeats
 * the others; a lasting one only if no source has taken the message.
 */
export function replyForAll(replies: readonly Reply[]): Reply {
  const transient = replies.find(({ code }) => code >= 400 && code < 500)
  const taken = replies.filter(({ code }) => code < 300)
  return (
    transient ?? (taken.length > 1 ? listed(taken) : taken[0]) ?? replies[0] ?? REPLIES.unavailable
  )
}

function listed(taken: readonly Reply[]): Reply {
  const [first = REPLIES.unavailable] = taken
  const ids = taken.flatMap(({ eventId }) => eventId ?? [])
  return ids.length === 0 ? first : { ...first, text: `2.0.0 Stored as ${ids.join(', ')}` }
}
